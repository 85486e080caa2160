"""A run is a directory: its layout, how a person names it, and whether its engine lives. Standard library only."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

Liveness = Literal["starting", "live", "finished", "stopped", "failed", "killed", "elsewhere"]
STARTING_SECONDS = 60
"""How long a run directory without `run.json` counts as a run that is just starting."""
_TAIL_BYTES = 256 * 1024


class RunNotFoundError(ValueError):
    """No run, or more than one, answers to the name given."""


@dataclass(frozen=True, slots=True)
class RunDir:
    """Where everything of one run stands."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def config_yaml(self) -> Path:
        return self.path / "config.yaml"

    @property
    def run_json(self) -> Path:
        return self.path / "run.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def console_log(self) -> Path:
        return self.path / "console.log"

    @property
    def control(self) -> Path:
        return self.path / "control.jsonl"

    @property
    def lock(self) -> Path:
        return self.path / "run.lock"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        return self.checkpoints / "best"

    @property
    def final(self) -> Path:
        return self.path / "final"

    @property
    def spikes(self) -> Path:
        return self.path / "spikes"

    def spike(self, step: int) -> Path:
        return self.spikes / f"step-{step}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """`run.json`: who runs where since when. `pid_start` and `boot_id` tell a process from a later one of its pid."""

    id: str
    name: str
    host: str
    boot_id: str
    pid: int
    pid_start: str
    started: float
    parent: str | None = None
    world_size: int = 1
    versions: dict[str, str] = field(default_factory=dict)
    git_revision: str | None = None
    data_hashes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegisteredRun:
    """One line of the registry of all runs of this user."""

    id: str
    name: str
    path: Path
    started: float


def create_run_dir(output_dir: Path, name: str, now: datetime | None = None) -> RunDir:
    """Make `<output_dir>/<YYYYMMDD-HHMMSS>-<name>`, with -2, -3 ... behind it when that exists.

    `name` may hold slashes ("qwen35_4b/a100_40gb"); they become hyphens. Raises OSError when it cannot be made.
    """
    stem = f"{(now or datetime.now()):%Y%m%d-%H%M%S}-{name.replace('/', '-')}"
    output_dir.mkdir(parents=True, exist_ok=True)
    attempt = 1
    while True:
        path = output_dir / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            path.mkdir()
        except FileExistsError:
            attempt += 1
            continue
        return RunDir(path.absolute())


def this_process(run: RunDir, name: str, **details: Any) -> RunInfo:
    """The `run.json` of a run that this process trains."""
    return RunInfo(
        id=run.id,
        name=name,
        host=socket.gethostname(),
        boot_id=boot_id(),
        pid=os.getpid(),
        pid_start=process_start(os.getpid()) or "",
        started=time.time(),
        **details,
    )


def write_run_info(run: RunDir, info: RunInfo) -> None:
    """Write `run.json`."""
    replace_text(
        run.run_json, json.dumps(dataclasses.asdict(info), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    )


def replace_text(path: Path, text: str) -> None:
    """Write the file in one move, so that a reader sees the old content or the new one. Raises OSError."""
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_run_info(run: RunDir) -> RunInfo | None:
    """The run's `run.json`, or None while there is none that can be read."""
    try:
        record = json.loads(run.run_json.read_text(encoding="utf-8"))
        known = {key.name for key in dataclasses.fields(RunInfo)}
        return RunInfo(**{key: value for key, value in record.items() if key in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def liveness(run: RunDir, now: float | None = None) -> Liveness:
    """Whether the run goes on, or how it ended; `killed` when its engine vanished without an `end` event.

    `elsewhere`: it was started on another host and has not ended as far as its log tells.
    """
    info = read_run_info(run)
    if info is None:
        return _liveness_without_info(run, time.time() if now is None else now)
    ended = _last_end(run.events)
    if ended is not None and ended[0] >= info.started:
        return ended[1]
    if info.host != socket.gethostname():
        return "elsewhere"
    return "live" if is_same_process(info) else "killed"


def is_same_process(info: RunInfo) -> bool:
    """True while the very process that wrote this `run.json` is running on this machine."""
    return info.boot_id == boot_id() and process_start(info.pid) == info.pid_start


def boot_id() -> str:
    """Tells this boot of the machine from any other; empty where the system has no such name."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def process_start(pid: int) -> str | None:
    """When the process was started, in the system's own terms; None when there is none or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _process_start_by_ps(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _process_start_by_ps(pid: int) -> str | None:
    if not shutil.which("ps"):
        return None
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def _liveness_without_info(run: RunDir, now: float) -> Liveness:
    ended = _last_end(run.events)
    if ended is not None:
        return ended[1]
    try:
        age = now - run.path.stat().st_mtime
    except OSError:
        return "killed"
    return "starting" if age < STARTING_SECONDS else "killed"


def _last_end(events: Path) -> tuple[float, Literal["finished", "stopped", "failed"]] | None:
    """Time and status of the last `end` event near the end of the log."""
    try:
        with events.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        if b'"end"' not in line:
            continue
        try:
            record = json.loads(line)
            if record["event"] == "end" and record["status"] in ("finished", "stopped", "failed"):
                return float(record["t"]), record["status"]
        except (ValueError, KeyError, TypeError):
            continue
    return None


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
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"id": run.id, "name": name, "path": str(run.path.absolute()), "started": started}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


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


def resolve_run(text: str) -> RunDir:
    """The run that a person means by a path, an id, the unique beginning of an id, or `latest`.

    Raises RunNotFoundError, with what would have been possible.
    """
    path = Path(text).expanduser()
    if is_run_dir(path):
        return RunDir(path.absolute())
    if path.is_file() and is_run_dir(path.parent):
        return RunDir(path.parent.absolute())
    if path.is_dir():
        raise RunNotFoundError(f"{text}: this folder is no run: it has neither run.json nor events.jsonl")
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


def is_run_dir(path: Path) -> bool:
    """True for a folder that holds a run's files."""
    return (path / "run.json").is_file() or (path / "events.jsonl").is_file()


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
