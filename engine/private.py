"""Who may read what a run writes: its folder decides, and everything made below it is as open as that folder.

So one decision, the mode of the run's folder (0700 unless `train.private` is false), holds for all files, those of
libraries too; a person who opens the folder to a group opens what is written from then on. The umask still takes away.
"""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE_FOLDER = 0o700
OPEN_FOLDER = 0o777
_READ_AND_WRITE = 0o666


def make_private_dir(path: Path) -> None:
    """Make the folder, and those above it, for its owner alone. Raises OSError, also where it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=PRIVATE_FOLDER)


def make_dir_like(path: Path, run: Path) -> None:
    """Make a folder of the run in `run`, as open as that; one that exists is left as it is. Raises OSError."""
    path.mkdir(mode=_mode(run), exist_ok=True)


def file_mode(folder: Path) -> int:
    """The mode of a new file that is as open as `folder`, before the umask."""
    return _mode(folder) & _READ_AND_WRITE


def open_private(path: str, flags: int) -> int:
    """An opener for `open`: a file that is made is as open as its folder. Raises OSError."""
    return os.open(path, flags, file_mode(Path(path).parent))


def narrow(folder: Path, run: Path) -> None:
    """Take from all below `folder`, which libraries have written, what the run in `run` does not give to others."""
    allowed = _mode(run)
    for path in (folder, *folder.rglob("*")):
        mode = path.lstat().st_mode & 0o7777
        if not path.is_symlink() and mode & ~allowed & OPEN_FOLDER:
            path.chmod(mode & (allowed | ~OPEN_FOLDER))


def make_private(folder: Path) -> None:
    """Close the folder to all but its owner. Raises OSError, as for a folder of somebody else."""
    mode = folder.stat().st_mode & 0o7777
    if mode & 0o077:
        folder.chmod(mode & ~0o077)


def make_open(folder: Path) -> None:
    """Open the folder as far as the umask allows. Raises OSError."""
    folder.chmod((folder.stat().st_mode & 0o7777) | (OPEN_FOLDER & ~_umask()))


def _mode(folder: Path) -> int:
    return folder.stat().st_mode & OPEN_FOLDER


def _umask() -> int:
    mask = os.umask(0o077)  # there is no other way to ask
    os.umask(mask)
    return mask
