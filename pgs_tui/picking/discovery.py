"""Finds the configs of a folder: a look at names, and at the first bytes of each YAML file."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pgs_tui.picking.recognized import written_model

LEVELS = 3
"""Folders below the one that is looked through whose files are found too."""
MOST_FOLDERS = 5000
"""Folders that are looked into, so that a home folder or a network drive does not keep anybody waiting."""
HEAD_BYTES = 64 * 1024
_SUFFIXES = (".yaml", ".yml")
_SKIPPED = frozenset({"venv", "node_modules", "site-packages", "__pycache__"})
_MARKS_OF_ENVIRONMENTS = frozenset({"pyvenv.cfg", "conda-meta"})
_MARKS_OF_RUNS = frozenset({"run.json", "events.jsonl"})
_NAME_OF_A_RUN = re.compile(r"\d{8}-\d{6}-.+")


@dataclass(frozen=True, slots=True)
class Found:
    """A file that looks like a config. `shown` is its name in lists, `model` the model as far as it could be read."""

    path: Path
    shown: str
    model: str
    shipped: bool = False
    """True for a config of the program, false for one of the person."""


@dataclass(slots=True)
class Tally:
    """What was seen beside the configs."""

    other_files: int = 0
    """YAML files that are no configs."""
    unreadable: list[Path] = field(default_factory=list)
    """Folders and files that may not be read."""
    cut: bool = False
    """True where there are more folders than are looked into."""
    stop: bool = False
    """Set it to end the search, which may wait for a slow disk in its own thread."""


def discover(here: Path, shipped: Path, tally: Tally) -> Iterator[Found]:
    """The configs below `here/configs`, then those below `here`; without such a folder those of `shipped` too.

    Each file comes once, however many links lead to it. `tally` is filled meanwhile. Never raises OSError.
    """
    walk = _Walk(tally)
    own = here / "configs"
    for folder in (own if _is_folder(own) else shipped, here):
        for path in walk.files(folder):
            model = _model_in(path, tally)
            if model is not None:
                yield Found(path, shown_name(path, here, shipped), model, folder is shipped)


def shown_name(path: Path, here: Path, shipped: Path) -> str:
    """The short name of a config among `here/configs` or the shipped ones, else its path from `here`."""
    for folder in (here / "configs", shipped):
        if path.is_relative_to(folder):
            return path.relative_to(folder).with_suffix("").as_posix()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


class _Walk:
    """Goes through folders level by level; what was seen once is not seen again, so links that lead back end."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._seen: set[tuple[int, int]] = set()
        self._folders = 0

    def files(self, top: Path) -> Iterator[Path]:
        """The YAML files below the folder, those of one folder by name."""
        waiting = deque([(top, 0)])
        while waiting:
            folder, level = waiting.popleft()
            if self._tally.stop:
                return
            if not self._is_new(folder):
                continue
            if self._folders >= MOST_FOLDERS:
                self._tally.cut = True
                return
            self._folders += 1
            files, folders = self._inside(folder)
            for path in files:
                if self._tally.stop:
                    return
                if self._is_new(path):
                    yield path
            if level < LEVELS:
                waiting.extend((path, level + 1) for path in folders)

    def _inside(self, folder: Path) -> tuple[list[Path], list[Path]]:
        """The YAML files and the folders to look into; none of an environment or of a run."""
        names: set[str] = set()
        files: list[Path] = []
        folders: list[Path] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if entry.name.startswith("."):
                        continue
                    if entry.name.endswith(_SUFFIXES):
                        if _is(entry.is_file):
                            files.append(Path(entry.path))
                    elif entry.name not in _SKIPPED and _is(entry.is_dir):
                        folders.append(Path(entry.path))
        except OSError:
            self._tally.unreadable.append(folder)
        if names & _MARKS_OF_ENVIRONMENTS or names & _MARKS_OF_RUNS or _NAME_OF_A_RUN.fullmatch(folder.name):
            return [], []
        return sorted(files), sorted(folders)

    def _is_new(self, path: Path) -> bool:
        try:
            status = path.stat()
        except OSError:
            return False
        key = status.st_dev, status.st_ino
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def _is(question: object) -> bool:
    """What a directory entry says of itself; a link that leads nowhere, or in a circle, is nothing."""
    assert callable(question)
    try:
        return bool(question())
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _model_in(path: Path, tally: Tally) -> str | None:
    """The model that the file names, empty where it is a config without one; None for a file that is no config."""
    try:
        with path.open("rb") as file:
            text = file.read(HEAD_BYTES).decode("utf-8", errors="replace")
    except OSError:
        tally.unreadable.append(path)
        return None
    model = written_model(text)
    if model is None:
        tally.other_files += 1
        return None
    return located(model, path.parent)


def located(model: str, folder: Path) -> str:
    """The model's local folder as an absolute path, where a config in `folder` means one; else the name as it is."""
    if not model:
        return ""
    beside = folder.absolute() / model
    if model.startswith((".", "/")) or _is_folder(beside):
        return os.path.normpath(beside)
    return model
