"""Finds configs: by path, or by name among those that come with the program."""

from __future__ import annotations

from pathlib import Path

DEFAULT = "quickstart"
_SUFFIXES = (".yaml", ".yml")


class ConfigNotFoundError(ValueError):
    """No config has this path or name."""


def configs_folder() -> Path:
    """The configs that come with the program: in the source tree, or in the installed package."""
    package = Path(__file__).resolve().parent
    in_source = package.parent / "configs"
    return in_source if (in_source / f"{DEFAULT}.yaml").is_file() else package / "configs"


def find_config(text: str | None, folder: Path | None = None) -> Path:
    """The config that a person means: an existing file, else a name such as `qwen35_4b/a100_40gb`; None is the default.

    Raises ConfigNotFoundError with the nearest names.
    """
    folder = folder or configs_folder()
    name = text or DEFAULT
    for path in (Path(name).expanduser(), *(folder / f"{name}{suffix}" for suffix in ("", *_SUFFIXES))):
        if path.is_file():
            return path
    if Path(name).expanduser().is_dir():
        raise ConfigNotFoundError(f"{name} is a folder, no config file; {_offer(name, folder)}")
    raise ConfigNotFoundError(f"{name}: no such config file, and no config of that name; {_offer(name, folder)}")


def names(folder: Path) -> list[str]:
    """The names of all configs in the folder, such as `qwen35_4b/a100_40gb`."""
    files = (path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in files)


def short_name(path: Path) -> str:
    """The path below its folder `configs` without suffix, else the file's own name."""
    parts = path.absolute().with_suffix("").parts
    below = max((place for place, part in enumerate(parts) if part == "configs"), default=len(parts) - 2)
    return "/".join(parts[below + 1 :])


def _offer(name: str, folder: Path) -> str:
    from difflib import get_close_matches

    if get_close_matches(name, ["attach"], cutoff=0.7):
        return "did you mean pgs-tui attach?"
    known = names(folder)
    wanted = name.removesuffix(".yaml").removesuffix(".yml").rpartition("configs/")[2]
    near = get_close_matches(wanted, known, n=3, cutoff=0.4)
    near += [one for one in known if wanted and wanted in one and one not in near]
    return f"did you mean {', '.join(near[:3])}?" if near else f"there are {', '.join(known) or 'none'}"
