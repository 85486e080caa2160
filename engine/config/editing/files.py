"""What a changed config needs as a file: a name that is free, paths that still lead there, one move to appear."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from engine.config.editing.spots import Form, Spot, find_spots
from engine.config.editing.values import replaced
from engine.config.editing.written import quoted_as_needed
from engine.config.errors import ConfigError, Place, Problem
from engine.config.load import config_name, is_config_of_a_run, load_text
from engine.config.nodes import NULL_WORDS
from engine.config.paths import DATA_FILE_KEYS, resolve

MOST_FOLDERS_UP = 3
"""A relative path that leads further up than this says less than the absolute one."""

_PATH_KEYS = (*DATA_FILE_KEYS, "model.name_or_path", "train.resume_from")
_NUMBERED = re.compile(r"(?P<stem>.+)-(?P<number>[2-9]|[1-9]\d+)")
_SCHEMA = re.compile(r"(?<=yaml-language-server: \$schema=)(?!\w+://)\S+")
_FOLDERS_OF_PACKAGES = ("site-packages", "dist-packages")


def free_name(path: Path) -> Path:
    """A path for a changed copy that no file has yet: `a100_40gb-2.yaml` beside `a100_40gb.yaml`.

    The copy of a run's config, of one that comes with an installed package, and of one in a folder that takes no files
    goes to the working directory.
    """
    folder, stem, suffix = path.absolute().parent, path.stem, path.suffix or ".yaml"
    is_of_a_run = is_config_of_a_run(path)
    if is_of_a_run:
        stem = config_name(path).replace("/", "-")
    if is_of_a_run or any(name in folder.parts for name in _FOLDERS_OF_PACKAGES) or not os.access(folder, os.W_OK):
        folder = Path.cwd()
        if not os.path.lexists(folder / f"{stem}{suffix}"):
            return folder / f"{stem}{suffix}"
    number = 2
    if numbered := _NUMBERED.fullmatch(stem):
        stem, number = numbered["stem"], int(numbered["number"]) + 1
    while os.path.lexists(folder / f"{stem}-{number}{suffix}"):
        number += 1
    return folder / f"{stem}-{number}{suffix}"


def write_text(target: Path, text: str, overwrite: bool) -> None:
    """Writes the file in one move, its line ends as they are in the text.

    Raises ConfigError where it cannot be written, and for one that exists unless `overwrite` is true.
    """
    place = Place(str(target))
    try:
        _write(target.resolve() if overwrite else target, text, overwrite)
    except FileExistsError:
        advice = "give it another name, or ask for it to be replaced"
        raise ConfigError([Problem("", "a file of this name is there already", advice=advice, place=place)]) from None
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be written: {error.strerror}", place=place)]) from None


def _write(target: Path, text: str, overwrite: bool) -> None:
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with scratch.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            if target.exists():
                shutil.copymode(target, scratch)
            scratch.replace(target)
        else:
            os.link(scratch, target)  # unlike a rename it never takes the place of a file
    finally:
        scratch.unlink(missing_ok=True)


def rebased(text: str, path: Path, target: Path) -> str:
    """The text of the config at `path` with its relative paths as they have to be in the file `target`.

    Raises ConfigError when the config does not load, or would mean other files there.
    """
    here, there = path.absolute().parent, target.absolute().parent
    if here == there:
        return text
    meant = load_text(text, path).config
    root = find_spots(text)
    assert root is not None, "a config that loads has content"
    for key, spot in sorted(_paths_in(root), key=lambda found: found[1].start, reverse=True):
        if text[spot.start : spot.stop] in NULL_WORDS:
            continue
        resolved = resolve(key, spot.text, here)
        if resolved != spot.text and not spot.text.startswith("~"):
            new = quoted_as_needed(_path_from(there, resolved, key))
            text = replaced(text, spot.start, spot.stop, new)
    text = _SCHEMA.sub(lambda match: _shorter(os.path.normpath(here / match.group()), there), text, count=1)
    if load_text(text, target).config != meant:
        reason = f"its paths cannot be written anew for the folder {there}"
        raise ConfigError([Problem("", reason, advice=f"keep the copy in {here}", place=Place(str(path)))])
    return text


def _paths_in(root: Spot) -> Iterator[tuple[str, Spot]]:
    """Each written text that may be a path, with its key."""
    for key in _PATH_KEYS:
        section_name, _, name = key.partition(".")
        section = root.pair(section_name)
        if section and (pair := section.value.pair(name)):
            yield from ((key, spot) for spot in _texts_of(pair.value))


def _texts_of(spot: Spot) -> Iterator[Spot]:
    if spot.form is Form.SCALAR and spot.text:
        yield spot
    for item in spot.items:
        yield from _texts_of(item)
    if path := spot.pair("path"):
        yield from _texts_of(path.value)


def _path_from(folder: Path, resolved: str, key: str) -> str:
    path = _shorter(resolved, folder)
    return path if resolve(key, path, folder) == resolved else f"./{path}"


def _shorter(path: str, folder: Path) -> str:
    """The path from the folder on, or the absolute one where that leads far up."""
    relative = os.path.relpath(path, folder)
    return relative if Path(relative).parts.count(os.pardir) <= MOST_FOLDERS_UP else path
