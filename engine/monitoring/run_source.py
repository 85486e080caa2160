"""A run's directory, polled: its events, whether its engine lives, and what only a reader can tell of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from engine.events import Event, EventReader, Resume, Stamped, Start, Step
from engine.health.reader_watch import UNSEEN, ReaderWatch
from engine.health.steps_watch import StepsWatch
from engine.monitoring.settings import settings_in
from engine.monitoring.source import Health
from engine.monitoring.summary import Summary, Told
from engine.rundir import RunDir, liveness, read_run_info

ENDED = ("finished", "stopped", "failed")


class RunSource:
    """`poll` brings what has changed; `summary` is how the run stands."""

    kind = "run"

    def __init__(self, run: RunDir, clock: Callable[[], float] = time.time) -> None:
        self.run = run
        self.name = run.id
        self.path = str(run.path)
        self.summary = Summary()
        self.notes: list[str] = []
        self.bad_lines = 0
        self._clock = clock
        self._reader = EventReader(run.events)
        self._life = "starting"
        self._watch = ReaderWatch(clock())
        self._steps: StepsWatch | None = None
        self._begins_anew = self._awaits_step = False
        self._first_t = self._known_until = -math.inf

    def poll(self) -> Iterator[Told]:
        """What has changed since the last time. Raises OSError."""
        self._life = liveness(self.run)  # first, so that no event can be younger than what is said of the engine
        more = True
        while more:
            batch = self._reader.poll()
            if batch.restarted:
                self._begins_anew = True
            self.bad_lines += batch.bad_lines
            for note in batch.notes:
                self._note(note)
                yield Told(self._clock(), words=note)
            for stamped in batch.events:
                yield from self._take(stamped)
            more = batch.more
        yield from self._look()

    @property
    def state(self) -> str:
        """One of starting, running, paused, finished, stopped, failed, killed and lost."""
        if self.summary.end is not None:
            return self.summary.end.status
        if self._life in ("killed", "lost", *ENDED):
            return self._life
        if self.summary.phase is None and self.summary.step is None:
            return "starting"
        return "paused" if self.summary.phase == "paused" else "running"

    @property
    def is_over(self) -> bool:
        return self.state in (*ENDED, "killed", "lost")

    @property
    def age(self) -> float | None:
        """Seconds since the newest event."""
        return None if self.summary.last_t is None else max(self._clock() - self.summary.last_t, 0.0)

    @property
    def health(self) -> Health:
        return Health.of(self.summary.incidents.open(), self.state)

    def _take(self, stamped: Stamped) -> Iterator[Told]:
        """What a log that was emptied told before is known, and so is what it tells once more."""
        if self._begins_anew:
            self._begin_anew(stamped.t)
        if stamped.t <= self._known_until:
            return
        if self.summary.last_t is None:
            self._first_t = stamped.t
        event, last = stamped.event, self.summary.last_step
        if self._awaits_step and isinstance(event, (Resume, Step)):
            self._awaits_step = False
            if isinstance(event, Step) and last is not None and event.step <= last:
                yield from self._hear(Stamped(stamped.t, Resume(from_step=event.step - 1, checkpoint="")))
        yield from self._hear(stamped)

    def _begin_anew(self, t: float) -> None:
        """The log tells from that moment on: events of before those known are of another run."""
        self._begins_anew = False
        last_t = self.summary.last_t
        if last_t is None or t < self._first_t:
            self.summary, self._steps, self._known_until = Summary(), None, -math.inf
        elif t <= last_t:
            self._known_until = last_t
        self._awaits_step = True

    def _hear(self, stamped: Stamped) -> Iterator[Told]:
        """What follows from the events before this one comes first."""
        if self._steps is None and isinstance(stamped.event, (Start, Step)):
            self._steps = self._judge_from(stamped.event)
        for alert in self._steps.take(stamped) if self._steps is not None else ():
            yield from self.summary.take_alert(alert, stamped.t, by_reader=True)
        yield from self.summary.take(stamped)

    def _judge_from(self, first: Event) -> StepsWatch:
        """The settings matter for what is judged here, which is nothing where the engine says that it judges."""
        is_judged = isinstance(first, Start) and bool(first.judged)
        return StepsWatch() if is_judged else StepsWatch(settings_in(self.run))

    def _look(self) -> Iterator[Told]:
        now, summary = self._clock(), self.summary
        if self._life in UNSEEN and (info := read_run_info(self.run)) is not None:
            self._note(f"it was started on {info.host}, so whether its engine lives cannot be seen from here")
        checkpoint = str(self.run.path / summary.checkpoint.path) if summary.checkpoint else None
        alerts = self._watch.look(
            now,
            self.state if self.is_over else self._life,
            summary.last_step_t,
            summary.phase,
            summary.usual_interval,
            phase_t=summary.phase_t,
            last_event_t=summary.last_t,
            last_step=summary.last_step,
            checkpoint=checkpoint,
        )
        for alert in alerts:
            if alert.code == "ENGINE_DEAD" and alert.state == "closed":  # from here on the log itself tells of it
                summary.incidents.forget(alert.id)
            else:
                yield from summary.take_alert(alert, now, by_reader=True)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
