"""Which run a person means."""

from __future__ import annotations

from pathlib import Path

from engine.rundir.info import read_run_info
from engine.rundir.judging import liveness
from engine.rundir.layout import RunDir, is_run_dir
from engine.rundir.registry import list_runs


class RunNotFoundError(ValueError):
    """No run, or more than one, answers to the name given."""


_NOT_READABLE = (
    "{0}: its folder may not be read. A run belongs to whoever started it; train.private: false in its config, "
    "or chmod, opens it to others"
)


def resolve_run(text: str) -> RunDir:
    """The run that a person means by a path, an id, the unique beginning of an id, or `latest`.

    Raises RunNotFoundError, with what would have been possible.
    """
    path = Path(text).expanduser()
    try:
        if is_run_dir(path):
            return RunDir(path.absolute())
        if path.is_file() and is_run_dir(path.parent):
            return RunDir(path.parent.absolute())
        if path.is_dir():
            raise RunNotFoundError(f"{text}: this folder is no run: it has neither run.json nor events.jsonl")
    except PermissionError as error:
        raise RunNotFoundError(_NOT_READABLE.format(text)) from error
    runs = list_runs()
    if text == "latest" and runs:
        return RunDir(runs[0].path)
    exact = [run for run in runs if run.id == text]
    matches = exact or [run for run in runs if run.id.startswith(text)]
    if len(matches) == 1:
        return RunDir(matches[0].path)
    if matches:
        names = ", ".join(str(run.path) if exact else run.id for run in matches[:5])
        raise RunNotFoundError(f"{text}: {len(matches)} runs answer to this; say which: {names}")
    if path.is_file():
        raise RunNotFoundError(
            f"{text}: this file lies in no run's folder; if it is a log, read it with: pgs monitor {text}"
        )
    newest = ", ".join(run.id for run in runs[:3])
    known = f"the newest runs are {newest}" if runs else "no run has been started yet by this user"
    raise RunNotFoundError(f"{text}: no such run; {known}")


def unfinished_runs(output_dir: Path, name: str) -> list[RunDir]:
    """The runs of this config's name in `output_dir` that did not finish, the one to go on with first.

    That is one that still goes on, else the newest that has a checkpoint, else the newest.
    """
    if not output_dir.is_dir():
        return []
    found: list[tuple[tuple[bool, bool, float], RunDir]] = []
    for path in output_dir.iterdir():
        run = RunDir(path.absolute())
        info = read_run_info(run) if path.is_dir() else None
        if info is None or info.name != name:
            continue
        state = liveness(run)
        if state != "finished":
            found.append(((state == "live", has_checkpoint(run), info.started), run))
    return [run for _, run in sorted(found, key=lambda pair: pair[0], reverse=True)]


def has_checkpoint(run: RunDir) -> bool:
    """True when a checkpoint stands under its final name; whether it is whole, its manifest tells."""
    return run.checkpoints.is_dir() and any(run.checkpoints.glob("step-*"))
