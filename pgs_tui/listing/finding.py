"""Finds the runs below a folder: a look at names alone."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pgs_tui.listing.foreign import tool_of
from pgs_tui.listing.row import Tool

LEVELS = 4
"""Folders below the one that is looked through which are looked into."""
MOST_FOLDERS = 20_000
"""So that a home folder or a network drive does not keep anybody waiting."""
REMOVED = ".removed-"
"""How the name of a folder begins that is being deleted."""
_SKIPPED = frozenset({"venv", "node_modules", "site-packages", "__pycache__"})
_OF_ENVIRONMENTS = frozenset({"pyvenv.cfg", "conda-meta"})
_OF_RUNS = frozenset({"run.json", "events.jsonl"})
_NAME_OF_A_RUN = re.compile(r"\d{8}-\d{6}-.+")


@dataclass(slots=True)
class Tally:
    """What was seen on the way."""

    folders: int = 0
    unreadable: dict[Path, str] = field(default_factory=dict)
    """Folders that could not be looked into, and why."""
    removed: list[Path] = field(default_factory=list)
    """What is left of deletions that broke off."""
    cut: bool = False
    """True where there are more folders than are looked into."""
    stop: bool = False
    """Set it to end the search, which may wait for a slow disk in its own thread."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a run, or of training of another `tool`."""

    path: Path
    tool: Tool | None = None


def find_runs(top: Path, tally: Tally) -> Iterator[Place]:
    """The runs' folders below `top`, or `top` itself; nothing within a run is looked into. Never raises OSError.

    Links are followed, each folder comes once. A folder that has a run's name and nothing in it is one that has just
    been made, or has never got further. Event files may lie above others, and above runs, so it goes on below them.
    """
    seen: set[tuple[int, int]] = set()
    waiting = deque([(top, 0)])
    while waiting and not tally.stop:
        folder, level = waiting.popleft()
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            if tally.folders >= MOST_FOLDERS:
                tally.cut = True
                return
            tally.folders += 1
            names, inside = _inside(folder, tally)
        except OSError as error:
            tally.unreadable[folder] = error.strerror or str(error)
            continue
        if names & _OF_RUNS or _NAME_OF_A_RUN.fullmatch(folder.name):
            yield Place(folder)
            continue
        tool = tool_of(folder, names)
        if tool is not None:
            yield Place(folder, tool)
        if tool != "Trainer" and level < LEVELS and not names & _OF_ENVIRONMENTS:
            waiting.extend((path, level + 1) for path in inside)


def _inside(folder: Path, tally: Tally) -> tuple[set[str], list[Path]]:
    """All names in it, and the folders to look into, by name."""
    names: set[str] = set()
    folders: list[Path] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.add(entry.name)
            if entry.name.startswith("."):
                if entry.name.startswith(REMOVED) and entry.is_dir(follow_symlinks=False):
                    tally.removed.append(Path(entry.path))
            elif entry.name not in _SKIPPED and _is_folder(entry):
                folders.append(Path(entry.path))
    return names, sorted(folders)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False
