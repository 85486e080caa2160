"""Training of another tool as a run: its events in order, with the alerts that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.events.foreign.recognised import Found
from engine.events.reader import Batch
from engine.events.types import ModelInfo, Phase, Stamped, Start
from engine.foreign.unjudged import Unjudged, unjudged
from engine.health.steps_watch import StepsWatch

NOT_TOLD = ModelInfo(name="", params=0, trainable=0)


class ForeignEvents:
    """`poll` as of an EventReader; no offsets, since there is no such log. A `start` tells how many steps there are."""

    def __init__(self, found: Found, reader: Unjudged | None = None) -> None:
        """`reader` replaces the one for what was found; tests do that."""
        self.found = found
        self._reader = reader or unjudged(found)
        self._begin()
        self._notes = (found.note,) if found.note else ()

    def _begin(self) -> None:
        self._watch = StepsWatch(is_foreign=True)
        self._started: Start | None = None

    @property
    def progress(self) -> float:
        """The share of what there was at the last look that has been told."""
        return self._reader.progress

    @property
    def is_open(self) -> bool:
        """Whether the newest of what there was at first waits for what may be written behind it."""
        return self._reader.is_open

    def poll(self) -> Batch:
        """What is new. Raises OSError, and NotReadableError where files are not what they should be."""
        batch = self._reader.poll()
        if batch.restarted:
            self._begin()
        events = tuple(self._judged(batch.events))
        notes, self._notes = (*self._notes, *batch.notes), ()
        return replace(batch, events=events, notes=notes)

    def _judged(self, events: tuple[Stamped, ...]) -> Iterator[Stamped]:
        """An alert comes behind the step that it is about."""
        if events:
            yield from self._start(events[0].t)
        last_t = 0.0
        for stamped in events:
            for alert in self._watch.take(stamped):
                yield Stamped(last_t or stamped.t, alert)
            yield stamped
            last_t = stamped.t
        for alert in self._watch.flush():
            yield Stamped(last_t, alert)

    def _start(self, t: float) -> Iterator[Stamped]:
        start = Start(
            run=self.found.path.name,
            command="",
            config="",
            model=NOT_TOLD,
            device="",
            total_steps=self._reader.total_steps,
        )
        if start != self._started:
            self._started = start
            yield Stamped(t, start)
            yield Stamped(t, Phase(name="training"))
