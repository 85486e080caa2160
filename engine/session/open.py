"""Which directory a run gets, and what it continues from."""

from __future__ import annotations

import errno
import importlib.metadata
import math
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoint.store import CheckpointStore, find_checkpoint
from engine.config import Config
from engine.errors import UserError
from engine.events.control_file import make_control_file
from engine.private import make_open, make_private, make_private_dir, narrow
from engine.rundir import (
    QUIET_SECONDS,
    RunDir,
    create_run_dir,
    is_run_dir,
    liveness,
    read_run_info,
    unfinished_runs,
)
from engine.session.lock import RunLock

_PACKAGES = ("torch", "transformers", "tokenizers", "bitsandbytes", "safetensors", "textual")
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Opened:
    """The run's directory, locked, and what is known before it starts.

    `name` is the run's own. `checkpoint` is what it starts from, and `parent` the run that belongs to, if another.
    Commands before the byte `commands_from` of `control.jsonl` were meant for an earlier engine of this run.
    """

    run: RunDir
    lock: RunLock
    name: str
    checkpoint: Path | None = None
    parent: str | None = None
    commands_from: int = 0
    notes: tuple[str, ...] = ()


def open_run(config: Config, name: str, run_dir: Path | None) -> Opened:
    """Make or find the directory, and lock it; whoever gets it has to release the lock.

    Raises UserError when it cannot be used, or what to resume from is not there.
    """
    try:
        output_dir = Path(config.train.output_dir).expanduser()
    except RuntimeError as error:
        raise UserError(f"train.output_dir: {config.train.output_dir}: there is no such user's home folder.") from error
    with ExitStack() as if_it_fails:
        try:
            opened = _open(config, name, output_dir, run_dir, if_it_fails)
        except OSError as error:
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise UserError(
                f"train.output_dir: the run's folder cannot be made in {output_dir}: {error.strerror or error}; "
                f"{'free some space' if is_full else 'choose a folder that can be written'}.",
                code="DISK_FULL" if is_full else None,
            ) from error
        if_it_fails.pop_all()
    return opened


def _open(config: Config, name: str, output_dir: Path, run_dir: Path | None, if_it_fails: ExitStack) -> Opened:
    resumes = config.train.resume_from == AUTO
    checkpoint = None
    if config.train.resume_from and not resumes:
        checkpoint = find_checkpoint(Path(config.train.resume_from))
    unfinished = unfinished_runs(output_dir, name) if resumes and run_dir is None else []
    run = _folder(run_dir) if run_dir else next(iter(unfinished), None)
    note = f"no unfinished run of {name}: a new one starts" if resumes and run is None else None
    run = run or create_run_dir(output_dir, name)
    lock = RunLock(run)
    if_it_fails.callback(lock.release)
    lock.take()
    _refuse_live(run)
    holds_a_run = is_run_dir(run.path)
    if holds_a_run and not resumes:
        raise UserError(f"--run-dir: {run.path} holds a run already; give a new folder, or --train.resume_from auto.")
    notes = [note, lock.note, _as_private_as_asked(run, config.train.private, is_new=not holds_a_run)]
    goes_on = resumes and note is None
    found = _where_it_stopped(run, config) if goes_on else Found(name, checkpoint, _run_of(checkpoint))
    commands_from = _size_of(run.control) if holds_a_run else 0
    make_control_file(run.control)
    said = tuple(one for one in (*notes, found.note) if one)
    return Opened(run, lock, found.name or name, found.checkpoint, found.parent, commands_from, said)


@dataclass(frozen=True, slots=True)
class Found:
    """What a run goes on from; `name` is the one it was started under, where it tells."""

    name: str | None
    checkpoint: Path | None
    parent: str | None
    note: str | None = None


def _where_it_stopped(run: RunDir, config: Config) -> Found:
    """Clear away what an interrupted save has left, and find the newest checkpoint of a run that is gone on with."""
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
    return Found(info.name if info is not None else None, checkpoint, parent, note)


def _folder(run_dir: Path) -> RunDir:
    with suppress(FileExistsError):
        make_private_dir(run_dir)
    return RunDir(run_dir.absolute())


def _as_private_as_asked(run: RunDir, private: bool, is_new: bool) -> str | None:
    """Close or open the folder as `train.private` says; a note where that is not possible."""
    try:
        if private:
            make_private(run.path)
            narrow(run.path, run.path)  # what a launcher or an earlier engine has made
        elif is_new:
            make_open(run.path)
    except OSError as error:
        words = "closed to others" if private else "opened to others"
        return f"train.private: {run.path} could not be {words}: {error.strerror}"
    return None


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _refuse_live(run: RunDir) -> None:
    """An engine may be at work without the lock: on a disk that knows none, or one of an earlier version."""
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
