"""Whether the engine of a run lives, or how it ended."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Literal

from engine.rundir.info import RunInfo, read_run_info
from engine.rundir.layout import RunDir
from engine.rundir.processes import boot_id, process_start

Liveness = Literal["starting", "live", "finished", "stopped", "failed", "killed", "elsewhere"]
STARTING_SECONDS = 60
"""How long a run directory without `run.json` counts as a run that is just starting."""
_TAIL_BYTES = 256 * 1024


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
