"""Which directory a run gets, and what it continues from."""

from __future__ import annotations

import errno
import importlib.metadata
import math
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoint.store import CheckpointStore, find_checkpoint
from engine.config import Config
from engine.errors import UserError
from engine.rundir import RunDir, create_run_dir, is_run_dir, liveness, read_run_info, unfinished_runs

_PACKAGES = ("torch", "transformers", "tokenizers", "bitsandbytes", "safetensors", "textual")
AUTO = "auto"
QUIET_SECONDS = 60
"""A running engine writes an event each second; after a minute without one it is gone."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The run's directory, the checkpoint it starts from, and the run that checkpoint belongs to, if another."""

    run: RunDir
    checkpoint: Path | None = None
    parent: str | None = None
    note: str | None = None


def open_run(config: Config, name: str, run_dir: Path | None) -> Opened:
    """Make or find the directory. Raises UserError when it cannot be used, or what to resume from is not there."""
    try:
        output_dir = Path(config.train.output_dir).expanduser()
    except RuntimeError as error:
        raise UserError(f"train.output_dir: {config.train.output_dir}: there is no such user's home folder.") from error
    try:
        if config.train.resume_from == AUTO:
            return _continue_newest(output_dir, name, config, run_dir)
        checkpoint = find_checkpoint(Path(config.train.resume_from)) if config.train.resume_from else None
        run = _use(run_dir) if run_dir else create_run_dir(output_dir, name)
        if is_run_dir(run.path):
            raise UserError(
                f"--run-dir: {run.path} holds a run already; give a new folder, or --train.resume_from auto."
            )
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise UserError(
            f"train.output_dir: the run's folder cannot be made in {output_dir}: {error.strerror or error}; "
            f"{'free some space' if is_full else 'choose a folder that can be written'}.",
            code="DISK_FULL" if is_full else None,
        ) from error
    return Opened(run, checkpoint, _run_of(checkpoint))


def _continue_newest(output_dir: Path, name: str, config: Config, run_dir: Path | None) -> Opened:
    unfinished = unfinished_runs(output_dir, name)
    run = _use(run_dir) if run_dir else next(iter(unfinished), None)
    if run is None:
        return Opened(create_run_dir(output_dir, name), note=f"no unfinished run of {name}: a new one starts")
    _refuse_live(run)
    store = CheckpointStore(run, config.train.keep_checkpoints)
    store.discard_leftovers()
    checkpoint, info = store.newest(), read_run_info(run)
    parent = info.parent if info is not None else None
    if checkpoint is None and parent is not None:
        raise UserError(
            f"train.resume_from: {run.id} went on from a checkpoint of {parent} and has saved none of its own yet; "
            "give that checkpoint again instead of auto."
        )
    note = None if checkpoint else f"{run.id} has no checkpoint yet: it starts from the beginning"
    return Opened(run, checkpoint, parent, note)


def _use(run_dir: Path) -> RunDir:
    run_dir.mkdir(parents=True, exist_ok=True)
    run = RunDir(run_dir.absolute())
    _refuse_live(run)
    return run


def _refuse_live(run: RunDir) -> None:
    if not is_run_dir(run.path):
        return
    state, info = liveness(run), read_run_info(run)
    if state == "live":
        raise UserError(
            f"The run {run.id} is still going on: attach to it with `pgs-tui attach {run.id}`, or stop it first."
        )
    if state == "elsewhere" and info is not None and _seconds_since_last_event(run) < QUIET_SECONDS:
        raise UserError(
            f"The run {run.id} is still going on, on the host {info.host}: its log grew within the last minute. "
            "Stop it there first."
        )


def _seconds_since_last_event(run: RunDir) -> float:
    try:
        return time.time() - run.events.stat().st_mtime
    except OSError:
        return math.inf


def _run_of(checkpoint: Path | None) -> str | None:
    if checkpoint is None:
        return None
    folder = checkpoint.parent if checkpoint.name == "final" else checkpoint.parent.parent
    return folder.name if is_run_dir(folder) else str(checkpoint)


def versions() -> dict[str, str]:
    """The versions of what decides a run's numbers."""
    found: dict[str, str] = {}
    for package in ("pgs-tui", *_PACKAGES):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def git_revision() -> str | None:
    """The commit of this source tree, where it is one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
