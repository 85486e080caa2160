"""Deletes a run's folder, whole or not at all, and nothing else."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.rundir import RunDir, is_run_dir, liveness, why_unreadable
from pgs_tui.listing.finding import REMOVED
from pgs_tui.listing.row import GOING
from pgs_tui.listing.sizes import BLOCK_BYTES

ATTEMPTS = 20
"""How often files that vanish meanwhile are begun with anew."""
_LEFT_BY_A_START = frozenset({"console.log", "control.jsonl", "config.yaml", "run.lock", "notes.json"})
"""What may lie in the folder of a run that never got as far as its run.json."""


class NotDeletedError(ValueError):
    """The run is still there as it was, unless the text says otherwise; it says why."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What would be deleted: `files` in `path`, which take `size` bytes of the disk; `has_final` says that the trained
    model is among them.
    """

    path: Path
    files: int
    size: int
    checkpoints: int
    has_final: bool


def deletion_of(path: Path, below: Path | None) -> Deletion:
    """Look at all of it, and whether it may and can be deleted: a run's folder below `below`, that no engine writes.

    Raises NotDeletedError.
    """
    _refuse_others(path, below)
    life = liveness(RunDir(path))
    if life == "unreadable":
        raise NotDeletedError(f"{path.name} may not be read ({why_unreadable(RunDir(path))}): it may be going on")
    if life in GOING:
        raise NotDeletedError(f"{path.name} is still going on; stop it first: Enter, then x")
    with _locked(path):
        return _looked_through(path)


def delete(planned: Deletion, below: Path | None) -> None:
    """Delete it: the folder is moved aside in one step, then its files go. Raises NotDeletedError.

    A deletion that breaks off leaves a folder whose name begins with REMOVED, which `finish` takes away.
    """
    path = planned.path
    _refuse_others(path, below)
    if liveness(RunDir(path)) in GOING:
        raise NotDeletedError(f"{path.name} goes on again; stop it first: Enter, then x")
    aside = path.with_name(f"{REMOVED}{path.name}-{secrets.token_hex(4)}")
    with _locked(path, makes=True):
        _looked_through(path)
        try:
            path.rename(aside)
        except OSError as error:
            raise NotDeletedError(f"{path.name} cannot be moved out of its folder: {error.strerror}") from error
    finish(aside)


def finish(aside: Path) -> None:
    """Take away what was moved aside, perhaps beside another one who does. Raises NotDeletedError with what is left."""
    assert aside.name.startswith(REMOVED), "no rest of a deletion"
    why = OSError("it stays")
    for _ in range(ATTEMPTS):
        try:
            if stat.S_ISDIR(aside.lstat().st_mode):
                shutil.rmtree(aside)
            return
        except FileNotFoundError as error:  # somebody else has just taken it away, or all of it
            why = error
        except OSError as error:
            why = error
            break
    if aside.exists():
        where = f"{why.strerror}: {why.filename}" if why.filename else str(why)
        raise NotDeletedError(f"not all could be deleted; what is left is in {aside} ({where})")


def _refuse_others(path: Path, below: Path | None) -> None:
    """Only a folder that is a run's, is itself no link, and is reached from `below` without one."""
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise NotDeletedError(f"{path.name} is a link or a file, and no run's folder")
        real = path.resolve(strict=True)
        top = (below or path.parent).resolve(strict=True)
    except OSError as error:
        raise NotDeletedError(f"{path.name} cannot be looked at: {error.strerror}") from error
    if real == top or not real.is_relative_to(top) or real != top / path.absolute().relative_to(_named(below, path)):
        raise NotDeletedError(f"{path.name} lies behind a link; delete it where it is: {real}")
    if not is_run_dir(path) and not {one.name for one in path.iterdir()} <= _LEFT_BY_A_START:
        raise NotDeletedError(f"{path.name} is no run's folder: it holds neither run.json nor events.jsonl")


def _named(below: Path | None, path: Path) -> Path:
    named = (below or path.parent).absolute()
    if not path.absolute().is_relative_to(named):
        raise NotDeletedError(f"{path.name} does not lie below {named}")
    return named


@contextmanager
def _locked(path: Path, makes: bool = False) -> Iterator[None]:
    """No engine can begin in it meanwhile. Raises NotDeletedError while one is at work there.

    `makes` the file where there is none, as in a run of an earlier version.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT if makes else 0)
    try:
        descriptor = os.open(RunDir(path).lock, flags, 0o600)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise NotDeletedError(f"{path.name}: its run.lock cannot be opened: {error.strerror}") from error
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            raise NotDeletedError(f"{path.name}: an engine is at work in it; stop it first") from error
        except OSError:  # a disk that knows no locks
            pass
        yield
    finally:
        os.close(descriptor)


def _looked_through(path: Path) -> Deletion:
    """Count what is in it; every folder must be one that its files can be taken out of, of the same disk."""
    files = size = checkpoints = 0
    device = path.stat().st_dev
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        try:
            if folder.lstat().st_dev != device:
                raise NotDeletedError(f"{folder} is another disk; it must be unmounted first")
            if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                raise NotDeletedError(f"nothing was deleted: {folder} may not be written")
            with os.scandir(folder) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    size += status.st_blocks * BLOCK_BYTES
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(Path(entry.path))
                        checkpoints += entry.name.startswith("step-") and folder.name == "checkpoints"
                    else:
                        files += 1
        except OSError as error:
            raise NotDeletedError(f"nothing was deleted: {folder}: {error.strerror}") from error
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise NotDeletedError(f"nothing was deleted: {path.parent} may not be written")
    final = RunDir(path).final
    return Deletion(path, files, size, checkpoints, not final.is_symlink() and any(final.glob("*")))
