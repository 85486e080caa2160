"""What other tools wrote, polled: the events of a run, as far as their files tell them."""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from engine.events.console import ConsoleStep
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
SLICE_STEPS = 5_000
"""How many steps of files are told at a time."""
IS_OVER = "its files say that the training is over"
"""Not that all steps are done: a Trainer that stops early writes its summary all the same."""
BEGUN_ANEW = "its files do not go on with what was told; they are read from the start"
SETTLED_SECONDS = 1.0
"""Whoever prints a step and the progress bar behind it does so within less."""


class Unjudged(Protocol):
    """`poll` brings the events since the last time. Raises OSError, and NotReadableError where files are no such."""

    @property
    def total_steps(self) -> int | None:
        """How many steps there will be, as far as is told."""

    @property
    def progress(self) -> float:
        """The share of what there is that has been told."""

    @property
    def is_open(self) -> bool:
        """Whether the newest of the past may still get something behind it, as has to be seen by another poll."""

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
    """The events of files that tell of steps; much comes in slices, the rest of which waits for the next poll."""

    def __init__(self, files: StepFiles) -> None:
        self._files = files
        self._steps = ForeignSteps()
        self._waiting: deque[ConsoleStep] = deque()
        self._size = 0
        self._is_over = self._end_was_told = False

    @property
    def is_open(self) -> bool:
        return False

    @property
    def total_steps(self) -> int | None:
        return self._steps.total

    @property
    def progress(self) -> float:
        return 1.0 - len(self._waiting) / self._size if self._size else 1.0

    def poll(self) -> Batch:
        told = StepsTold() if self._waiting else self._look()
        events = []
        for _ in range(min(SLICE_STEPS, len(self._waiting))):
            events += [Stamped(self._steps.t, event) for event in self._steps.take(self._waiting.popleft())]
        if self._is_over and not (self._waiting or self._end_was_told):
            self._end_was_told = True
            end = End(status="finished", reason=IS_OVER, exit_code=0, last_step=self._steps.last or 0)
            events.append(Stamped(self._steps.t, end))
        notes = (BEGUN_ANEW, *told.notes) if told.restarted else told.notes
        return Batch(tuple(events), notes, restarted=told.restarted, more=bool(self._waiting))

    def _look(self) -> StepsTold:
        told = self._files.poll()
        if told.restarted:
            self._steps, self._is_over, self._end_was_told = ForeignSteps(), False, False
        self._steps.total = told.total or self._steps.total
        self._waiting.extend(told.told)
        self._size = len(self._waiting)
        self._is_over = self._is_over or told.is_over
        return told


class LogEvents:
    """The events of a log.

    Lines that come while it is watched came then. Those of the past: the newest no later than the file's last change,
    the others before it by the times that a logger put before them, else by what their steps say that they took.
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
        self._is_settled = False
        """Whether nothing had been added for a while when it was looked at first."""
        self.is_open = False
        self._size = 0
        self._told: set[str] = set()

    @property
    def total_steps(self) -> int | None:
        return self._log.total_steps

    @property
    def progress(self) -> float:
        return min(self._reader.offset / self._size, 1.0) if self._size else 1.0

    def poll(self) -> Batch:
        is_first, self._is_first = self._is_first, False
        if is_first:
            status = self._path.stat()
            self._latest, self._size = status.st_mtime, status.st_size
            self._is_settled = self._clock() - status.st_mtime > SETTLED_SECONDS
        batch = self._reader.poll()
        if not (batch.lines or self._path.exists()):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._path))
        if batch.restarted:
            self._log = ForeignLog()
        unread = self._log.unread
        events = list(self._events(batch.lines))
        if is_first:
            events = self._placed(events)
        if self._latest is not None:
            events = [Stamped(min(one.t, self._latest), one.event) for one in events]
        if not batch.more:
            self.is_open = self._latest is not None and not self._is_settled
            if self._latest is not None:
                self._log.t, self._latest = self._latest, None
            if self._is_settled or not batch.lines:
                events += self._log.rest()  # nothing has been added since: no progress bar comes behind it
            self._is_settled = False
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
        if self._log.has_times:
            return events
        seconds = self._log.t * (self._size / self._reader.offset if self._reader.offset else 1.0)
        begin = self._latest - max(seconds, self._log.t)
        self._log.t += begin
        return [Stamped(begin + one.t, one.event) for one in events]

    def _new_notes(self) -> tuple[str, ...]:
        note = self._log.note
        if not note or note in self._told:
            return ()
        self._told.add(note)
        return (note,)
