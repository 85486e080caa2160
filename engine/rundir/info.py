"""`run.json`: who trains a run, where, since when."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from engine.durable import replace_text
from engine.rundir.layout import RunDir
from engine.rundir.processes import boot_id, pid_namespace, process_start

_LARGEST_PID = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """`run.json`: who runs where since when.

    `pid_start` and `boot_id` tell a process from a later one of its pid, `pid_namespace` one of a container from one of
    its host. `started_by` says in words what the engine was started by, where that can be known: a Slurm job, a unit of
    systemd, tmux, a dashboard.
    """

    id: str
    name: str
    host: str
    boot_id: str
    pid: int
    pid_start: str
    started: float
    pid_namespace: str = ""
    started_by: str = ""
    parent: str | None = None
    world_size: int = 1
    versions: dict[str, str] = field(default_factory=dict)
    git_revision: str | None = None
    data_hashes: dict[str, str] = field(default_factory=dict)


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
        pid_namespace=pid_namespace(),
        **details,
    )


def write_run_info(run: RunDir, info: RunInfo) -> None:
    """Write `run.json`."""
    replace_text(
        run.run_json, json.dumps(dataclasses.asdict(info), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    )


def read_run_info(run: RunDir) -> RunInfo | None:
    """The run's `run.json`, or None while there is none that can be read."""
    try:
        return run_info_of(run.run_json.read_bytes())
    except OSError:
        return None


def run_info_of(text: bytes) -> RunInfo | None:
    """What a `run.json` says; None where it is not one, or not whole."""
    try:
        record = json.loads(text.decode("utf-8"))
        known = {key.name for key in dataclasses.fields(RunInfo)}
        info = RunInfo(**{key: value for key, value in record.items() if key in known})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return info if _is_sound(info) else None


def _is_sound(info: RunInfo) -> bool:
    """Whether those fields are what they should be by which processes are looked for."""
    texts = (info.id, info.name, info.host, info.boot_id, info.pid_start, info.pid_namespace, info.started_by)
    return (
        all(isinstance(text, str) for text in texts)
        and type(info.pid) is int
        and 0 < info.pid <= _LARGEST_PID
        and isinstance(info.started, float | int)
    )
