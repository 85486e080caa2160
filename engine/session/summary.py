"""Keeps `summary.json` of the run: what lists of runs tell of it without reading its log."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from engine.events import Checkpoint, End, Eval, Event, Stamped, Start
from engine.events.summary import FILE_NAME, MOST_BYTES, RunSummary, summary_of_text, summary_text
from engine.events.summary_worker import sum_up
from engine.private import file_mode
from engine.rundir import RunDir

INTERVAL_SECONDS = 10.0
AT_ONCE = (Start, Eval, Checkpoint, End)
"""Events after which the summary is written whatever the time."""


class SummaryWriter:
    """A follower of the session. Of a run that goes on it knows the past.

    What is written says how much of the log it is about, so that a reader need only look at what came later. A summary
    is a convenience: where it cannot be written, training goes on without.
    """

    def __init__(
        self, run: RunDir, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run = run
        self._now, self._clock = now, clock
        self._written = -INTERVAL_SECONDS
        self._lock = threading.Lock()
        self._summary = _of_past(run)

    def __call__(self, event: Event) -> None:
        """Take an event of the training, which stands in the log now."""
        self.note(event)
        if isinstance(event, AT_ONCE) or self._clock() - self._written >= INTERVAL_SECONDS:
            self._written = self._clock()
            self._write()

    def note(self, event: Event) -> None:
        """Take an event of whatever thread; it is written with the next one of the training."""
        with self._lock:
            self._summary.fold(Stamped(self._now(), event))

    def _write(self) -> None:
        """In one move, without waiting for the disk: what a power cut takes is made anew from the log."""
        temporary = self._run.path / f"{FILE_NAME}.tmp"
        try:
            with self._lock:
                self._summary.log_bytes = self._run.events.stat().st_size
                text = summary_text(self._summary)
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, file_mode(self._run.path)
            )
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(self._run.path / FILE_NAME)
        except OSError:
            return


def _of_past(run: RunDir) -> RunSummary:
    """What the log tells already, from where an earlier summary ends."""
    try:
        with run.events.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            known = _earlier(run)
            summary = known if known is not None and known.log_bytes <= size else RunSummary()
            sum_up(log, summary, size)
    except OSError:
        return RunSummary()
    return summary


def _earlier(run: RunDir) -> RunSummary | None:
    try:
        with (run.path / FILE_NAME).open("rb") as file:
            return summary_of_text(file.read(MOST_BYTES))
    except OSError:
        return None
