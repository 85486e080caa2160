"""Reads what a run's folder tells of it: little of it, so that hundreds of runs take a moment."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.events.summary import FILE_NAME, MOST_BYTES, RunSummary, summary_of_text
from engine.rundir import Liveness, RunDir, RunInfo, facts_here, judged, liveness, read_run_info, why_unreadable
from pgs_tui.listing.labels import read_labels
from pgs_tui.listing.row import RunRow

if TYPE_CHECKING:
    from engine.rundir import Ended

SHORT_BYTES = 2**20
"""As much of a log as has no summary is read at once; more of it by a process of its own."""


@dataclass(frozen=True, slots=True)
class KnownSummary:
    """A summary of the log with this inode."""

    inode: int
    summary: RunSummary


def read_row(folder: Path, shown: str, known: KnownSummary | None = None) -> RunRow:
    """The run in the folder; `known` is what was found of its log before. Never raises OSError."""
    run = RunDir(folder)
    try:
        os.scandir(folder).close()
    except OSError as error:
        return RunRow(path=folder, shown=shown, name=folder.name, trouble=f"may not be read: {error.strerror}")
    info = read_run_info(run)
    log = _log_of(run, known)
    life = life_of(run, info, log.summary)
    if life == "unreadable":
        trouble = f"may not be read: {why_unreadable(run)}"
        return RunRow(path=folder, shown=shown, name=name_in(folder.name), trouble=trouble)
    return RunRow(
        path=folder,
        shown=shown,
        name=info.name if info else name_in(folder.name),
        life=life,
        started=info.started if info else _made(folder),
        host=info.host if info else "",
        started_by=info.started_by if info else "",
        parent=info.parent if info else None,
        summary=log.summary,
        log_inode=log.inode,
        must_sum=log.must_sum,
        labels=read_labels(folder),
        trouble=_trouble(run, info),
    )


def life_of(run: RunDir, info: RunInfo | None, summary: RunSummary | None) -> Liveness:
    """Whether the run goes on, without a second look at the end of its log."""
    if info is None or summary is None:
        return liveness(run)
    try:
        silent = time.time() - run.events.stat().st_mtime
    except OSError:
        return liveness(run)
    return judged(info, facts_here(info.pid), end_of(summary), silent)


def end_of(summary: RunSummary) -> tuple[float, Ended] | None:
    """When and how the run's last process ended."""
    match summary.status, summary.last_t:
        case "finished" | "stopped" | "failed" as status, float(t):
            return t, status
    return None


@dataclass(frozen=True, slots=True)
class _Log:
    """What a log tells up to its end, or why not: it is not there, or more of it is to be read than can be now."""

    summary: RunSummary | None = None
    inode: int | None = None
    must_sum: bool = False


def _log_of(run: RunDir, known: KnownSummary | None) -> _Log:
    from engine.events.summary_worker import sum_up

    try:
        with run.events.open("rb") as log:
            status = os.fstat(log.fileno())
            summary = _newest(_own(run.path), known, status) or RunSummary()
            if status.st_size - summary.log_bytes > SHORT_BYTES:
                return _Log(summary if summary.log_bytes else None, status.st_ino, must_sum=True)
            sum_up(log, summary, status.st_size)
    except OSError:
        return _Log()
    return _Log(summary, status.st_ino)


def _newest(own: RunSummary | None, known: KnownSummary | None, log: os.stat_result) -> RunSummary | None:
    """The summary that tells most of this log."""
    there = [one for one in (own,) if one is not None]
    if known is not None and known.inode == log.st_ino:
        there.append(copy_of(known.summary))
    return max((one for one in there if one.log_bytes <= log.st_size), key=lambda one: one.log_bytes, default=None)


def copy_of(summary: RunSummary) -> RunSummary:
    """Another one, to fold more into."""
    return replace(
        summary,
        alerts=dict(summary.alerts),
        findings=dict(summary.findings),
        open_alerts=dict(summary.open_alerts),
    )


def _own(folder: Path) -> RunSummary | None:
    try:
        descriptor = os.open(folder / FILE_NAME, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return summary_of_text(file.read(MOST_BYTES))
    except OSError:
        return None


def _trouble(run: RunDir, info: RunInfo | None) -> str:
    if info is not None:
        return "" if run.events.is_file() else "it has no events.jsonl"
    if not run.run_json.exists():
        return "" if run.events.is_file() else "it holds neither run.json nor events.jsonl"
    return "its run.json cannot be read"


def name_in(folder: str) -> str:
    """The config's name in that of a run's folder."""
    day, _, rest = folder.partition("-")
    clock, _, name = rest.partition("-")
    return name if len(day) == 8 and len(clock) == 6 and (day + clock).isdigit() and name else folder


def _made(folder: Path) -> float | None:
    try:
        return folder.stat().st_mtime
    except OSError:
        return None
