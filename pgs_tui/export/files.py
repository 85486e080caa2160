"""Where exports go: into new files, never over old ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import TextIO

from engine.rundir import RunDir

Writing = Callable[[TextIO], None]


def text(content: str) -> Writing:
    """Writes this text."""

    def write(file: TextIO) -> None:
        file.write(content)

    return write


def export_folder(run: RunDir) -> Path:
    """The run's own folder for exports, made where it is missing; else the folder that the person is in."""
    folder = run.path / "exports"
    try:
        folder.mkdir(exist_ok=True)
    except OSError:  # the run is another user's, or its disk is read only
        return Path.cwd()
    return folder if os.access(folder, os.W_OK) else Path.cwd()


def write_beside(folder: Path, stem: str, suffix: str, write: Writing) -> Path:
    """Write `stem.suffix`, or `stem-2.suffix` and so on where that exists. Raises OSError."""
    for number in chain(("",), (f"-{later}" for later in count(2))):
        try:
            return write_new(folder / f"{stem}{number}.{suffix}", write)
        except FileExistsError:
            continue
    raise AssertionError("numbers do not end")


def write_new(path: Path, write: Writing) -> Path:
    """Write a file that does not exist yet; of one that could not be written whole nothing is left. Raises OSError."""
    with path.open("x", encoding="utf-8", newline="") as file:
        try:
            write(file)
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return path
