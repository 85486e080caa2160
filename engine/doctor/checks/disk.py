"""Room for the checkpoints of a run, in a folder that can be written."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from engine.config import Train
from engine.doctor.checks.sizes import sizes_of
from engine.doctor.result import Outcome, Patient, failed, ok
from engine.doctor.runner import NotHereError
from engine.units import GIB


def check_disk(patient: Patient) -> Outcome:
    """Whether `train.output_dir` takes files, and the checkpoints that the config keeps."""
    train = patient.loaded.config.train if patient.loaded is not None else Train()
    output_dir = Path(train.output_dir).expanduser().absolute()
    folder = _nearest_folder(output_dir)
    reason = _why_not_writable(folder)
    free = shutil.disk_usage(folder).free
    if reason is not None or patient.loaded is None:
        return judge(output_dir, reason, free, None, train.keep_checkpoints)
    try:
        size = sizes_of(patient.loaded.config).stored
    except NotHereError as unknown:
        outcome = judge(output_dir, reason, free, None, train.keep_checkpoints)
        return Outcome(outcome.status, f"{outcome.found}; what a checkpoint needs is not known: {unknown}", outcome.fix)
    return judge(output_dir, reason, free, size, train.keep_checkpoints)


def judge(output_dir: Path, reason: str | None, free: int, checkpoint: int | None, keep: int) -> Outcome:
    """The verdict from why the folder cannot be written, the free bytes, and the bytes of one checkpoint."""
    if reason is not None:
        return failed(f"{output_dir} cannot be written: {reason}", "train.output_dir: a folder that you may write")
    if checkpoint is None:
        return ok(f"{output_dir} can be written, {free / GIB:.1f} GiB are free")
    needed = checkpoint * (keep + 1)
    room = f"{keep} + 1 checkpoints of {checkpoint / GIB:.2f} GiB need {needed / GIB:.2f} GiB"
    if free < needed:
        return failed(
            f"{room}, {free / GIB:.2f} GiB are free at {output_dir}",
            "free some space, train.keep_checkpoints: 1, or another train.output_dir",
        )
    return ok(f"{room}, {free / GIB:.1f} GiB are free")


def _nearest_folder(path: Path) -> Path:
    """The path, or the folder nearest above it that exists: a run makes the rest."""
    return next(one for one in (path, *path.parents) if one.is_dir())


def _why_not_writable(folder: Path) -> str | None:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"a checkpoint")
    except OSError as error:
        return error.strerror or str(error)
    return None
