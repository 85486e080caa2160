"""`pgs-tui runs --forget`: what is kept here of runs on other machines is removed, and told."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from pgs_tui.format import counted, plain
from pgs_tui.listing.words import size
from pgs_tui.remote.mirrors import Forgotten, forget, mirrors_folder


def print_forgotten(out: TextIO, folder: Path | None = None) -> int:
    """Remove the mirrors that nobody uses, and say so. Returns 0, or 1 where one could not be removed.

    Raises ValueError for a folder of caches that may not be looked at.
    """
    try:
        root = folder or mirrors_folder()
        forgotten = forget(root)
    except OSError as error:
        raise ValueError(f"what is kept of runs on other machines cannot be removed: {error}") from error
    print(_sentence(forgotten, root), file=out, flush=True)
    return 1 if forgotten.left else 0


def _sentence(forgotten: Forgotten, root: Path) -> str:
    told = f"{counted(forgotten.removed, 'mirror')} of runs on other machines removed, {size(forgotten.size)}"
    if not (forgotten.removed or forgotten.in_use or forgotten.left):
        told = "no run on another machine has left a mirror"
    if forgotten.in_use:
        told += f"; {counted(forgotten.in_use, 'mirror')} in use stay{'s' if forgotten.in_use == 1 else ''}"
    if forgotten.left:
        told += f"; {counted(len(forgotten.left), 'mirror')} could not be removed whole: {forgotten.left[0]}"
    return plain(f"{told} ({root})")
