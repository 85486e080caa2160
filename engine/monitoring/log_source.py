"""A plain console log, polled: its step lines judged like a run's, and how long it has been silent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from engine.events.text_reader import TextBatch, TextReader
from engine.events.types import Resume, Stamped, Step
from engine.health.foreign import ForeignLog
from engine.health.reader_watch import NOTHING_IS_WRITTEN, ReaderWatch
from engine.health.silence import LOST_SECONDS
from engine.health.steps_watch import StepsWatch
from engine.monitoring.source import Health
from engine.monitoring.summary import Summary, Told

NO_STEP = "no step line was found; one looks like this: step=50 loss=2.34 lr=4.5e-05"


class Lines(Protocol):
    """Whatever brings the lines of a log."""

    def poll(self) -> TextBatch:
        """The lines since the last poll."""

    def rest(self) -> tuple[str, ...]:
        """What stands behind the last line end."""

    def changed(self) -> float | None:
        """When the log was written to last, unix seconds; None where nobody knows."""

    @property
    def is_over(self) -> bool:
        """Whether no line can come any more."""


class LogFile:
    """The lines of a file."""

    is_over = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = TextReader(path)

    def poll(self) -> TextBatch:
        return self._reader.poll()

    def rest(self) -> tuple[str, ...]:
        return self._reader.rest()

    def changed(self) -> float | None:
        try:
            return self._path.stat().st_mtime
        except FileNotFoundError:
            return None


class LogSource:
    """`poll` brings what has changed; `summary` is how the run stands, as far as its log tells.

    `follows` says that the log is watched while it is written: then its last line is waited for, and a log to which
    nothing is added for long is silent. Otherwise an unfinished last line counts, and only the log's age is told.
    """

    kind = "log"

    def __init__(self, lines: Lines, name: str, follows: bool, clock: Callable[[], float] = time.time) -> None:
        self.name = self.path = name
        self.summary = Summary()
        self.notes: list[str] = []
        self.bad_lines = 0
        self._lines = lines
        self._follows = follows
        self._clock = clock
        self._log = ForeignLog()
        self._steps = StepsWatch(is_foreign=True)
        self._watch = ReaderWatch(clock(), silent_words=NOTHING_IS_WRITTEN)
        self._is_past = True
        self._begins_anew = False

    def poll(self) -> Iterator[Told]:
        """What has changed since the last time. Raises OSError."""
        more = True
        while more:
            batch = self._lines.poll()
            for note in batch.notes:
                self.notes.append(note)
                yield Told(self._clock(), words=note)
            self._begins_anew |= batch.restarted
            yield from self._take(batch.lines)
            more = batch.more
        if not self._follows or self._lines.is_over:
            yield from self._take(self._lines.rest())
            yield from self._judge(self._log.rest())
        if self._log.note and self._log.note not in self.notes:
            self.notes.append(self._log.note)
        for alert in self._steps.flush():
            yield from self.summary.take_alert(alert, self._clock(), by_reader=True)
        self.summary.total_steps, self.bad_lines = self._log.total_steps, self._log.unread
        if self._is_past:
            self._begin_to_follow()
        if self._follows:
            yield from self._look()

    @property
    def state(self) -> str:
        """One of starting, running, silent, finished, stopped and failed; `read` of a log that is not followed."""
        if self.summary.end is not None:
            return self.summary.end.status
        if not self._follows:
            return "read"
        if self.summary.step is None:
            return "starting"
        return "silent" if any(one.code == "SILENT" for one in self.summary.incidents.open()) else "running"

    @property
    def is_over(self) -> bool:
        return self.summary.end is not None or self._lines.is_over

    @property
    def age(self) -> float | None:
        """Seconds since the log was written to last."""
        changed = self._lines.changed()
        return None if changed is None else max(self._clock() - changed, 0.0)

    @property
    def health(self) -> Health:
        found = Health.of(self.summary.incidents.open(), self.state)
        is_unjudged = self.summary.step is None and not self._follows
        return Health("unknown", True) if is_unjudged and found.word == "ok" else found

    def _take(self, lines: tuple[str, ...]) -> Iterator[Told]:
        now = None if self._is_past else self._clock()
        for line in lines:
            yield from self._judge(self._log.take(line, now))

    def _judge(self, events: Iterator[Stamped]) -> Iterator[Told]:
        for stamped in events:
            if self._begins_anew and isinstance(stamped.event, (Resume, Step)):
                self._begin_anew(stamped.event)
            for alert in self._steps.take(stamped):  # about the steps before
                yield from self.summary.take_alert(alert, stamped.t, by_reader=True)
            yield from self.summary.take(stamped)

    def _begin_anew(self, event: Resume | Step) -> None:
        """A log that was emptied goes on where it was, or with a step from before, which makes void what is known."""
        self._begins_anew = False
        if isinstance(event, Resume) and not event.checkpoint:
            self.summary, self._steps = Summary(), StepsWatch(is_foreign=True)

    def _begin_to_follow(self) -> None:
        """From now on lines come when they are written; those of the past came no later than the file's last change."""
        self._is_past = False
        if self.summary.step is None and not self._follows:
            self.notes.append(NO_STEP)
        changed = self._lines.changed()
        if changed is not None:
            self._log.t = changed
            if self.summary.step is not None:
                self.summary.last_t = self.summary.last_step_t = changed

    def _look(self) -> Iterator[Told]:
        """How long nothing has been added; of a log whose pace nobody knows only a long silence counts."""
        age, usual, now = self.age, self.summary.usual_interval, self._clock()
        is_known = usual is not None and usual > 0
        if age is None or (not is_known and age <= LOST_SECONDS):
            return
        alerts = self._watch.look(
            now,
            "finished" if self.is_over else "live",
            now - age,
            "training" if is_known else None,
            usual,
            last_event_t=now - age,
            last_step=self.summary.last_step,
        )
        for alert in alerts:
            yield from self.summary.take_alert(alert, now, by_reader=True)
