"""Whether the engine of a run lives, or how it ended."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.rundir.info import RunInfo, read_run_info
from engine.rundir.layout import RunDir
from engine.rundir.processes import boot_id, pid_namespace, process_start

Ended = Literal["finished", "stopped", "failed"]
Liveness = Literal["starting", "live", "killed", "elsewhere", "lost", "unreadable"] | Ended
STARTING_SECONDS = 60
"""How long a run directory without `run.json` counts as a run that is just starting."""
QUIET_SECONDS = 60
"""A running engine writes an event each second; after a minute without one something is wrong."""
LOST_SECONDS = 600
"""After so long without an event an engine that cannot be looked at counts as gone."""
_TAIL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What a machine knows of the process that a `run.json` names. An empty text is not known there."""

    host: str
    boot_id: str
    pid_start: str | None
    """When the process of that number was started, None where there is none."""
    pid_namespace: str = ""


def liveness(run: RunDir, now: float | None = None) -> Liveness:
    """Whether the run goes on, or how it ended, as far as this machine can see; `judged` says what the words mean.

    `unreadable`: nobody here knows, since what would tell it is there and cannot be read.
    """
    now = time.time() if now is None else now
    info = read_run_info(run)
    if info is None:
        found = _liveness_without_info(run, now)
    else:
        found = judged(info, facts_here(info.pid), last_end(run.events), _silent_for(run, now))
    is_known = found in ("live", "finished", "stopped", "failed")
    return found if is_known or why_unreadable(run) is None else "unreadable"


def why_unreadable(run: RunDir) -> str | None:
    """Why it cannot be told how a run is: `events.jsonl: Permission denied`. None for files that are just not there."""
    for path in (run.events, run.run_json):
        try:
            path.open("rb").close()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return f"{path.name}: {error.strerror or error}"
    return None


def judged(
    info: RunInfo, facts: ProcessFacts, ended: tuple[float, Ended] | None, last_event_age: float | None
) -> Liveness:
    """Whether the engine of a `run.json` lives, by what one machine and the run's log tell.

    `ended` is the time (unix seconds) and status of the last `end` in the log, `last_event_age` the seconds since the
    log grew. `killed`: the engine vanished without an `end`: its process is gone, another one has its number, or the
    machine was started anew. `elsewhere`: another machine or container trains it, where this one cannot look; `lost`:
    so it was, and nothing has been heard of it for `LOST_SECONDS`.
    """
    if ended is not None and ended[0] >= info.started:
        return ended[1]
    if info.host == facts.host and _differ(info.boot_id, facts.boot_id):
        is_silent = last_event_age is None or last_event_age >= QUIET_SECONDS
        return "killed" if is_silent else "elsewhere"  # two machines may have one name, and one of them train
    if can_be_seen(info, facts):
        return "live" if facts.pid_start == info.pid_start else "killed"
    return "lost" if last_event_age is not None and last_event_age >= LOST_SECONDS else "elsewhere"


def facts_here(pid: int) -> ProcessFacts:
    """What this machine knows of a process."""
    return ProcessFacts(socket.gethostname(), boot_id(), process_start(pid), pid_namespace())


def can_be_seen(info: RunInfo, facts: ProcessFacts) -> bool:
    """True where the process of `run.json` would be among those that `facts` were taken from, if it lived."""
    is_this_machine = info.host == facts.host and not _differ(info.boot_id, facts.boot_id)
    return is_this_machine and not _differ(info.pid_namespace, facts.pid_namespace)


def is_same_process(info: RunInfo) -> bool:
    """True while the very process that wrote this `run.json` is running on this machine."""
    facts = facts_here(info.pid)
    return can_be_seen(info, facts) and facts.pid_start == info.pid_start


def _differ(one: str, other: str) -> bool:
    """True for two that are known and not the same."""
    return bool(one and other) and one != other


def _silent_for(run: RunDir, now: float) -> float | None:
    for path in (run.events, run.run_json):
        try:
            return now - path.stat().st_mtime
        except OSError:
            continue
    return None


def _liveness_without_info(run: RunDir, now: float) -> Liveness:
    ended = last_end(run.events)
    if ended is not None:
        return ended[1]
    try:
        age = now - run.path.stat().st_mtime
    except OSError:
        return "killed"
    return "starting" if age < STARTING_SECONDS else "killed"


def last_end(events: Path) -> tuple[float, Ended] | None:
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
