"""Shapes of well-known models that come with the program, so that random weights of them need no download.

`OWNER/MODEL/config.json`, a model's folder without weights or tokenizer. No torch import.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
_SAME_SHAPE = ("-Base", "-Instruct")
"""What may follow a model's name without a change of its shape."""


def shipped_names() -> tuple[str, ...]:
    """The hub names whose shapes come with the program."""
    return tuple(sorted(path.parent.relative_to(_HERE).as_posix() for path in _HERE.glob("*/*/config.json")))


def shipped_folder(name: str) -> Path | None:
    """The folder with the shape of the model of that hub name, or None."""
    plain = next((name.removesuffix(ending) for ending in _SAME_SHAPE if name.endswith(ending)), name)
    return _HERE / plain if plain in shipped_names() else None


def is_shipped(folder: Path) -> bool:
    """Whether the folder is one of those here."""
    return folder.resolve().is_relative_to(_HERE)
