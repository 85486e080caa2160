"""What other tools wrote, polled: the events of a run, as far as their files tell them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from engine.events.foreign.recognised import Found
from engine.events.foreign.steps import ForeignSteps
from engine.events.foreign.tensorboard import EventFiles
from engine.events.foreign.told import StepsTold
from engine.events.foreign.trainer_state import TrainerStates
from engine.events.reader import Batch
from engine.events.text_reader import TextReader
from engine.events.types import End, Stamped
from engine.health.foreign import ForeignLog

CHUNK_BYTES = 2**20
"""How much of a log is read at a time."""
ALL_STEPS = "all steps are done, as its files say"


class Unjudged(Protocol):
    """`poll` brings the events since the last time. Raises OSError, and NotReadableError where files are no such."""

    @property
    def total_steps(self) -> int | None:
        """How many steps there will be, as far as is told."""

    def poll(self) -> Batch: ...


class StepFiles(Protocol):
    """Files that are looked at as a whole."""

    def poll(self) -> StepsTold: ...


def unjudged(found: Found) -> Unjudged:
    """The reader for what was found."""
    if found.kind == "log":
        return LogEvents(found.path)
    return StepEvents(EventFiles(found.path) if found.kind == "tensorboard" else TrainerStates(found.path))


class StepEvents:
    """The events of files that tell of steps."""

    def __init__(self, files: StepFiles) -> None:
        self._files = files
        self._steps = ForeignSteps()
        self._is_over = False

    @property
    def total_steps(self) -> int | None:
        return self._steps.total

    def poll(self) -> Batch:
        told = self._files.poll()
        if told.restarted:
            self._steps, self._is_over = ForeignSteps(), False
        self._steps.total = told.total or self._steps.total
        events = [Stamped(self._steps.t, event) for one in told.told for event in self._steps.take(one)]
        if told.is_over and not self._is_over:
            self._is_over = True
            end = End(status="finished", reason=ALL_STEPS, exit_code=0, last_step=self._steps.last or 0)
            events.append(Stamped(self._steps.t, end))
        return Batch(tuple(events), told.notes, restarted=told.restarted)


class LogEvents:
    """The events of a log.

    Lines that come while it is watched came then. When those of the past came nobody knows: the newest no later than
    the file's last change, the others before it by what their steps say that they took.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._reader = TextReader(self._path, chunk_bytes=CHUNK_BYTES)
        self._log = ForeignLog()
        self._latest: float | None = None
        """No line of the past came after this; None once the past has been read."""
        self._is_first = True
        self._told: set[str] = set()

    @property
    def total_steps(self) -> int | None:
        return self._log.total_steps

    def poll(self) -> Batch:
        is_first, self._is_first = self._is_first, False
        if is_first:
            self._latest = self._path.stat().st_mtime
        batch = self._reader.poll()
        if batch.restarted:
            self._log = ForeignLog()
        unread = self._log.unread
        events = list(self._events(batch.lines))
        if is_first:
            events = self._placed(events)
        if self._latest is not None:
            events = [Stamped(min(one.t, self._latest), one.event) for one in events]
        if not batch.more:
            if self._latest is not None:
                self._log.t, self._latest = self._latest, None
            elif not batch.lines:
                events += self._log.rest()  # nothing has been added since: no progress bar comes behind it
        notes = (*batch.notes, *self._new_notes())
        return Batch(tuple(events), notes, self._log.unread - unread, batch.restarted, batch.more)

    def _events(self, lines: tuple[str, ...]) -> Iterator[Stamped]:
        now = None if self._latest is not None else self._clock()
        for line in lines:
            yield from self._log.take(line, now)

    def _placed(self, events: list[Stamped]) -> list[Stamped]:
        """The first events of the past, so that the whole of it ends when the file was changed last.

        How long the rest took is guessed by its bytes.
        """
        assert self._latest is not None, "the past is being read"
        size = self._path.stat().st_size
        seconds = self._log.t * (size / self._reader.offset if self._reader.offset else 1.0)
        begin = self._latest - max(seconds, self._log.t)
        self._log.t += begin
        return [Stamped(begin + one.t, one.event) for one in events]

    def _new_notes(self) -> tuple[str, ...]:
        note = self._log.note
        if not note or note in self._told:
            return ()
        self._told.add(note)
        return (note,)
