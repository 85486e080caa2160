"""The checkpoints of a run on the disk: `checkpoints/step-N`, `checkpoints/best` and `final`. No torch import.

A checkpoint is written to a temporary folder, flushed to the disk and renamed, so a folder under its final name is
whole; a manifest of sizes inside it tells when it was damaged later. Old ones go only after a new one stands.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.durable import flush, flush_folder
from engine.errors import UserError
from engine.private import make_dir_like, narrow
from engine.rundir import RunDir

TRAINER_STATE = "trainer_state"
MANIFEST = f"{TRAINER_STATE}/manifest.json"
_TEMPORARY = ".writing-"
_REPLACED = ".replaced-"
_REMOVED = ".removed-"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_SPARE_SHARE = 1.05
_PROBE_BYTES = 2**20

WriteFiles = Callable[[Path], None]
"""Writes the files of a checkpoint into the folder given."""


class NotEnoughSpaceError(UserError):
    """A checkpoint does not fit on the disk; nothing was changed there."""

    code = "DISK_FULL"


class CheckpointStore:
    """Saves, keeps and finds the checkpoints of one run. `keep` counts the newest; the best one stays besides."""

    def __init__(self, run: RunDir, keep: int) -> None:
        self._run = run
        self._keep = keep

    def save(self, step: int, write: WriteFiles, expected_bytes: int) -> Path:
        """Write `checkpoints/step-N`, then remove those that are too old.

        Raises NotEnoughSpaceError, before writing or in its midst, with all earlier checkpoints untouched.
        """
        folder = self._run.checkpoints / f"step-{step}"
        self._write_whole(folder, write, expected_bytes)
        self.prune()
        return folder

    def save_final(self, write: WriteFiles, expected_bytes: int) -> Path:
        """Write `final`. Raises NotEnoughSpaceError like `save`."""
        self._write_whole(self._run.final, write, expected_bytes)
        return self._run.final

    def mark_best(self, checkpoint: Path) -> None:
        """Let `checkpoints/best` point to this checkpoint, then remove those that are too old."""
        link = self._run.best.with_name(f"{_TEMPORARY}best")
        make_dir_like(link.parent, self._run.path)
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(checkpoint, link.parent))
        if self._run.best.is_dir() and not self._run.best.is_symlink():  # a copy of a run that followed the link
            shutil.rmtree(self._run.best)
        link.replace(self._run.best)
        flush_folder(link.parent)
        self.prune()

    def newest(self) -> Path | None:
        """The complete checkpoint of the highest step, or None."""
        complete = [path for path in self._by_step() if is_complete(path)]
        return complete[-1] if complete else None

    def prune(self) -> None:
        """Remove all but the newest complete checkpoints and the best one."""
        complete = [path for path in self._by_step() if is_complete(path)]
        best = self._run.best.resolve()
        for path in complete[: -self._keep]:
            if path.resolve() != best:
                removed = path.rename(path.with_name(f"{_REMOVED}{path.name}"))  # never half a checkpoint by its name
                shutil.rmtree(removed)

    def discard_leftovers(self) -> None:
        """Remove what an interrupted save has left, and put back what it had only moved aside."""
        for parent in (self._run.checkpoints, self._run.path):
            leftovers = sorted(parent.iterdir()) if parent.is_dir() else []
            for path in leftovers:
                name = path.name.removeprefix(_REPLACED)
                if name != path.name and not path.with_name(name).exists():
                    path.rename(path.with_name(name))
                elif path.name.startswith((_TEMPORARY, _REPLACED, _REMOVED)):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def _by_step(self) -> list[Path]:
        folder = self._run.checkpoints
        found = [path for path in folder.iterdir() if step_of(path) is not None] if folder.is_dir() else []
        return sorted(found, key=lambda path: step_of(path) or 0)

    def _write_whole(self, folder: Path, write: WriteFiles, expected_bytes: int) -> None:
        if folder.parent != self._run.path:
            make_dir_like(folder.parent, self._run.path)
            flush_folder(self._run.path)
        free = shutil.disk_usage(folder.parent).free
        if free < expected_bytes * _SPARE_SHARE:
            raise NotEnoughSpaceError(_too_little(folder, expected_bytes, free))
        temporary = folder.with_name(f"{_TEMPORARY}{folder.name}")
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            make_dir_like(temporary, self._run.path)
            write(temporary)
            _write_manifest(temporary)
            narrow(temporary, self._run.path)
            _flush_to_disk(temporary)
        except BaseException as error:
            is_full = _is_for_want_of_space(error, temporary, expected_bytes)
            shutil.rmtree(temporary, ignore_errors=True)
            if is_full:
                raise NotEnoughSpaceError(_too_little(folder, expected_bytes, free)) from error
            raise
        _move_into_place(temporary, folder)


def find_checkpoint(path: Path) -> Path:
    """The complete checkpoint that a person means by a checkpoint's folder or a run's folder.

    Raises UserError when there is none or it is not whole.
    """
    path = path.expanduser()
    if not path.is_dir():
        raise UserError(f"train.resume_from: there is no folder {path}; give a checkpoint's folder, or auto.")
    run = RunDir(path)
    final = run.final if is_complete(run.final) else None  # written after the last step, so newer than any other
    found = final or CheckpointStore(run, keep=1).newest() or path.resolve()
    if not (found / TRAINER_STATE).is_dir():
        raise UserError(
            f"train.resume_from: {path} holds no {TRAINER_STATE}, so it is no checkpoint of this program; "
            "to start from its weights give it as model.name_or_path."
        )
    if not is_complete(found):
        raise UserError(
            f"train.resume_from: the checkpoint {path} is damaged: {_first_difference(found)}; take another."
        )
    return found


def step_of(path: Path) -> int | None:
    """N of a folder named step-N."""
    match = re.fullmatch(r"step-(\d+)", path.name)
    return int(match.group(1)) if match else None


def is_complete(path: Path) -> bool:
    """True when all files that the checkpoint was saved with are there in their full size."""
    return _first_difference(path) is None


def _first_difference(path: Path) -> str | None:
    try:
        manifest: Any = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "its manifest is missing"
    if not isinstance(manifest, dict):
        return "its manifest is damaged"
    for name, size in manifest.items():
        try:
            found = (path / name).stat().st_size
        except OSError:
            return f"{name} is missing"
        if found != size:
            return f"{name} has {found:,} bytes instead of {size:,}"
    return None


def _write_manifest(folder: Path) -> None:
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}
    (folder / TRAINER_STATE).mkdir(exist_ok=True)
    (folder / MANIFEST).write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")


def _flush_to_disk(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        (flush_folder if path.is_dir() else flush)(path)


def _is_for_want_of_space(error: BaseException, temporary: Path, expected_bytes: int) -> bool:
    """Whether the files could not be written because the disk, or a quota on it, is full.

    torch and safetensors raise errors of their own. Where these do not hold the system's words, the disk is asked.
    """
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    if not isinstance(error, Exception):
        return False
    if any(os.strerror(number) in str(error) for number in _NO_SPACE):
        return True
    written = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
    return shutil.disk_usage(temporary.parent).free < expected_bytes - written or not _takes_a_file(temporary)


def _takes_a_file(folder: Path) -> bool:
    try:
        with (folder / "probe").open("wb") as file:
            file.write(os.urandom(_PROBE_BYTES))  # random: a file system that compresses would find room for zeros
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno not in _NO_SPACE
    return True


def _move_into_place(temporary: Path, folder: Path) -> None:
    """Rename; a folder of that name, from a time line that a resume has left, is moved aside first."""
    aside = folder.with_name(f"{_REPLACED}{folder.name}")
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    temporary.rename(folder)
    flush_folder(folder.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _too_little(folder: Path, needed: int, free: int) -> str:
    return (
        f"The checkpoint {folder.name} needs {needed / 2**30:.2f} GiB, {free / 2**30:.2f} GiB are free at "
        f"{folder.parent}: free some space."
    )
