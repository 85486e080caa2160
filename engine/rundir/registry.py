"""The list of all runs of this user."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.private import make_private_dir
from engine.rundir.layout import RunDir


@dataclass(frozen=True, slots=True)
class RegisteredRun:
    """One line of the registry of all runs of this user."""

    id: str
    name: str
    path: Path
    started: float


def registry_path() -> Path:
    """`${XDG_STATE_HOME:-~/.local/state}/pgs-tui/runs.jsonl`. Raises OSError for a user without a home."""
    state = os.environ.get("XDG_STATE_HOME")
    if not state:
        try:
            state = str(Path.home() / ".local" / "state")
        except RuntimeError as error:  # a container under a user id of its own
            raise FileNotFoundError("this user has no home directory, and XDG_STATE_HOME is not set") from error
    return Path(state) / "pgs-tui" / "runs.jsonl"


def register_run(run: RunDir, name: str, started: float) -> None:
    """Append the run to the registry. Raises OSError when that is not possible; the run itself does not need it."""
    path = registry_path()
    if not path.parent.is_dir():
        with suppress(FileExistsError):  # another run has just made it
            make_private_dir(path.parent)
    record = {"id": run.id, "name": name, "path": str(run.path.absolute()), "started": started}
    with open(path, "a", encoding="utf-8", opener=_opener) as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def name_of(run: RunDir) -> str:
    """What finds the run from any folder: its id, or its path where it is in no list, as a copy from elsewhere."""
    is_listed = any(one.path == run.path and one.id == run.id for one in list_runs())
    return run.id if is_listed else str(run.path)


def list_runs() -> list[RegisteredRun]:
    """The registered runs whose directory still stands, newest first, each once."""
    try:
        lines = registry_path().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    runs: dict[Path, RegisteredRun] = {}
    for line in lines:
        try:
            record = json.loads(line)
            run = RegisteredRun(record["id"], record["name"], Path(record["path"]), float(record["started"]))
        except (ValueError, KeyError, TypeError):
            continue
        runs.pop(run.path, None)
        runs[run.path] = run
    return sorted((run for run in runs.values() if _stands(run.path)), key=lambda run: run.started, reverse=True)


def _stands(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:  # behind a folder that may not be entered
        return False
