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
from engine.rundir.processes import boot_id, process_start


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


def read_run_info(run: RunDir) -> RunInfo | None:
    """The run's `run.json`, or None while there is none that can be read."""
    try:
        record = json.loads(run.run_json.read_text(encoding="utf-8"))
        known = {key.name for key in dataclasses.fields(RunInfo)}
        return RunInfo(**{key: value for key, value in record.items() if key in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
