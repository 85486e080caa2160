"""Where mirrors are kept from one time to the next: `${XDG_CACHE_HOME:-~/.cache}/pgs-tui/runs`, this user's alone."""

from __future__ import annotations

import fcntl
import hashlib
import os
import posixpath
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgs_tui.remote.address import Address
from pgs_tui.remote.mirror import Mirror

MOST_RUNS = 20
MOST_BYTES = 2 * 2**30
_LOCK = "lock"
_NAME = re.compile(r"[0-9a-f]{32}|also-\w+")
"""Nothing else is ever removed: where caches are kept may be where this project is, with its own `runs`."""


@dataclass(slots=True)
class OwnMirror:
    """A mirror that nobody else uses; `is_kept` says that it is there the next time."""

    mirror: Mirror
    is_kept: bool
    _lock: int

    def close(self) -> None:
        """Leave it to the next one, or throw it away."""
        if self._lock < 0:
            return
        self.mirror.close()
        if not self.is_kept:
            shutil.rmtree(self.mirror.run.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many mirrors were removed, with their bytes on the disk, how many are in use, and which could not be."""

    removed: int
    size: int
    in_use: int
    left: tuple[Path, ...]


def mirrors_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of all mirrors. Raises OSError for a user without a home."""
    try:
        cache = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:  # a container under a user id of its own
        raise FileNotFoundError("this user has no home directory, and XDG_CACHE_HOME is not set") from error
    return Path(cache) / "pgs-tui" / "runs"


def own_mirror(address: Address, folder: Path | None = None) -> OwnMirror:
    """The mirror that is kept for the address, or another one while a dashboard uses that. Raises OSError."""
    root = folder or mirrors_folder()
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = root / _name(address)
    path.mkdir(mode=0o700, exist_ok=True)
    lock = _locked(path)
    is_kept = lock is not None
    if lock is None:
        path = Path(tempfile.mkdtemp(prefix="also-", dir=root))
        lock = _locked(path)
        assert lock is not None, "nobody else knows the new folder"
    os.utime(path)
    tidy(root)
    return OwnMirror(Mirror(path), is_kept, lock)


def tidy(folder: Path, most_runs: int = MOST_RUNS, most_bytes: int = MOST_BYTES) -> None:
    """Remove what is left of dashboards that were killed, and of the mirrors nobody uses all but the newest."""
    count, size = 0, 0
    for path in sorted(_mirrors(folder), key=_last_use, reverse=True):
        count, size = count + 1, size + _size(path)
        if count > most_runs or size > most_bytes or path.name.startswith("also-"):
            _remove_unused(path)


def forget(folder: Path | None = None) -> Forgotten:
    """Remove every mirror that nobody uses just now. Raises OSError."""
    removed = size = in_use = 0
    left = []
    for path in _mirrors(folder or mirrors_folder()):
        before = _size(path)
        if not _remove_unused(path):
            in_use += 1
        elif path.exists():
            left.append(path)
        else:
            removed, size = removed + 1, size + before
    return Forgotten(removed, size, in_use, tuple(left))


def _name(address: Address) -> str:
    place = f"{address.target}\0{posixpath.normpath(address.far_path)}"
    return hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:32]


def _locked(path: Path) -> int | None:
    """The lock of a mirror, None while somebody else has it."""
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _remove_unused(path: Path) -> bool:
    """False while somebody uses it. What could not be taken away is still there."""
    try:
        lock = _locked(path)
    except OSError:
        return True
    if lock is None:
        return False
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)
    return True


def _mirrors(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return [path for path in folder.iterdir() if _NAME.fullmatch(path.name) and _is_folder(path)]
    return []


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    """The bytes on the disk, of which a log with holes has fewer than its length says."""
    size = 0
    for file in path.rglob("*"):
        with suppress(OSError):
            size += file.lstat().st_blocks * 512
    return size
