"""Follows a run from a thread of its own: one frozen update per poll that brought something."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import Semaphore
from typing import Protocol

from engine.events import Batch, End, EventReader, Stamped
from engine.events.columns import Block
from engine.rundir import RunDir
from pgs_tui.runs.console import ConsoleTail
from pgs_tui.runs.growing_arrays import keep_large_arrays_apart
from pgs_tui.runs.life import Engine, Life
from pgs_tui.runs.link_status import LinkStatus
from pgs_tui.runs.past import FOLLOWED_BYTES, Past

FASTEST = 0.1
SLOWEST = 0.5
SLOWEST_AFTER_END = 2.0
LIFE_EVERY = 0.5
"""Seconds between two polls of a busy and of a quiet run, of one that is over, and between two looks at its engine."""
EVENTS_PER_UPDATE = 200
"""Much news comes in slices, so that keys are answered in between."""
UNDELIVERED = 1
"""How many updates may be on their way to the screen. Whoever reads faster than it folds waits, so that memory does not
fill; and as there is never a next one at hand, keys and drawing have their turn after each.
"""
LOOK_UP_EVERY = 0.1
"""Seconds after which whoever waits for the screen looks whether it is still there."""


class Reader(Protocol):
    """Whatever brings a run's events."""

    def poll(self) -> Batch:
        """The events since the last poll."""


class Log(Protocol):
    """Whatever brings the lines of a run's log."""

    def poll(self) -> tuple[str, ...]:
        """The lines since the last poll."""

    def rest(self) -> tuple[str, ...]:
        """What stands behind the last newline, once its writer is gone."""


@dataclass(frozen=True, slots=True)
class Update:
    """What one poll brought. `life` is the state of the engine now, `exit_code` its exit code if it was ours.

    `columns` are a long past in the order of the log; they come before the `events`, whose lines begin in the log at
    the bytes `offsets`.
    """

    events: tuple[Stamped, ...] = ()
    log: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    life: Life = "starting"
    exit_code: int | None = None
    loading: bool = False
    """True while more of the past is still to come at once."""
    columns: tuple[Block, ...] = ()
    offsets: tuple[int, ...] = ()
    restarted: bool = False
    """The log was emptied or replaced, and these events come from its new start: what is known stays, unless they tell
    it again.
    """
    afresh: bool = False
    """All that was known is void: these events are told from their beginning."""
    survey: bool = False
    """A sample of the past to be drawn while it is read; all of it comes again, so it must not be kept."""
    progress: float | None = None
    """The share of the past that has been read, while `loading`."""
    preview: bool = False
    """These events stand behind a past that is still being read: to be drawn with the survey. They come again."""
    trouble: str | None = None
    """Why the log cannot be read at the moment; it is tried again."""
    link: LinkStatus | None = None
    """How things stand with the machine where the run is, if that is another one."""


class Follower:
    """Polls quickly while much happens and slowly while nothing does.

    What cannot be read is told as trouble and tried again; it never ends the following. `preview` brings what stands
    behind a past that is still being fetched; `link` says how things stand with the machine it comes from.
    """

    def __init__(
        self,
        reader: Reader,
        log: Log,
        look: Callable[[], tuple[Life, int | None]],
        clock: Callable[[], float] = time.monotonic,
        past: Past | None = None,
        preview: Reader | None = None,
        link: Callable[[], LinkStatus | None] = lambda: None,
    ) -> None:
        self._reader = reader
        self._log = log
        self._look = look
        self._clock = clock
        self._past = past
        self._preview = preview
        self._link = link
        self._surveyed = False
        self._looked: float | None = None
        self._now = Update(loading=True)
        """What was last told, without what happened. The first look is told in any case, even of an empty log."""
        self._ended = False
        self._room = Semaphore(UNDELIVERED)
        self.pause = FASTEST
        """Seconds to wait before the next poll."""

    @classmethod
    def of(cls, run: RunDir, process: subprocess.Popen[bytes] | None = None, past: Past | None = None) -> Follower:
        """The follower of a run on this machine; `process` is its engine if this program started it.

        `past` is what stands before the newest of its events, if that is read in its own way.
        """
        reader = past.reader() if past else EventReader(run.events, FOLLOWED_BYTES)
        return cls(reader, ConsoleTail(run.console_log), Engine(run, process).look, past=past)

    def poll(self) -> Iterator[Update]:
        """What is new since the last poll, in slices; nothing when nothing is."""
        before = self._now
        self._see_life()
        if self._past is not None:
            yield from self._updates_of(self._past)
        if self._past is None or self._past.waits:
            yield from self._news(before)

    def run(self, deliver: Callable[[Update], None], wait: Callable[[float], bool]) -> None:
        """Deliver updates until `wait(seconds)` returns True, which means that nobody wants them any more.

        At most UNDELIVERED of them are on their way: `taken` says that one has arrived.
        """
        if self._past is not None:
            keep_large_arrays_apart()
        try:
            while True:
                for update in self.poll():
                    while not self._room.acquire(timeout=LOOK_UP_EVERY):
                        if wait(0):
                            return
                    deliver(update)
                if wait(self.pause):
                    return
        finally:
            self._leave_past()

    def taken(self) -> None:
        """One of the updates that were delivered has been taken in. From any thread."""
        self._room.release()

    def stop(self) -> None:
        """Nobody will want anything any more: who waits for the past waits no longer. From any thread."""
        if past := self._past:
            past.stop()

    def _leave_past(self) -> None:
        past, self._past = self._past, None
        if past is not None:
            past.close()

    def _see_life(self) -> None:
        self._now = replace(self._now, link=self._link())
        now = self._clock()
        if self._looked is None or now - self._looked >= LIFE_EVERY:
            self._looked = now
            life, exit_code = self._look()
            self._now = replace(self._now, life=life, exit_code=exit_code)

    def _updates_of(self, past: Past) -> Iterator[Update]:
        """The past: first a survey of it with the newest lines of the log, then all of it."""
        self.pause = 0.0
        self._now = replace(self._now, loading=True, progress=past.progress, trouble=None)
        try:
            if not self._surveyed and (survey := past.survey()):
                self._surveyed = True
                yield replace(self._now, columns=survey.blocks, survey=True, log=self._lines())
            while not past.waits:
                portion = past.portion()
                if portion is None:
                    self._leave_past()
                    return
                self._see_life()
                self._now = replace(self._now, progress=past.progress)
                yield replace(self._now, columns=portion.blocks, notes=portion.notes)
        except OSError as error:
            self.pause = SLOWEST
            self._now = replace(self._now, trouble=_said(error))
            yield self._now

    def _news(self, before: Update) -> Iterator[Update]:
        past = self._past
        reader = self._preview if past is not None else self._reader
        try:
            batch, trouble = reader.poll() if reader is not None else Batch(), None
        except OSError as error:
            batch, trouble = Batch(), _said(error)
        if past is not None and batch.restarted:  # what is fetched now is another log than the one that was surveyed
            self._leave_past()
            yield from self._news(before)
            return
        lines = self._lines(died=self._now.life == "gone" and before.life != "gone")
        self._ended = self._is_over(batch)
        self._set_pause(bool(batch) or bool(lines) or past is not None, batch.more)
        progress = past.progress if past is not None else None
        self._now = replace(self._now, trouble=trouble, progress=progress, loading=batch.more or past is not None)
        if batch or lines or self._now != before:
            yield from self._slices(batch, lines)

    def _lines(self, died: bool = False) -> tuple[str, ...]:
        """The log is an extra: where it cannot be read, the events are followed all the same."""
        try:
            return self._log.poll() + (self._log.rest() if died else ())
        except OSError:
            return ()

    def _is_over(self, batch: Batch) -> bool:
        if self._now.life == "live":
            return False
        return self._ended or self._now.life == "gone" or any(isinstance(one.event, End) for one in batch.events)

    def _set_pause(self, busy: bool, more: bool) -> None:
        slowest = SLOWEST_AFTER_END if self._ended else SLOWEST
        self.pause = 0.0 if more else FASTEST if busy else min(self.pause * 1.5 or FASTEST, slowest)

    def _slices(self, batch: Batch, lines: tuple[str, ...]) -> Iterator[Update]:
        starts = range(0, max(len(batch.events), 1), EVENTS_PER_UPDATE)
        preview = self._past is not None  # and then what is odd is told when it comes again
        for start in starts:
            last = start == starts[-1]
            end = start + EVENTS_PER_UPDATE
            yield replace(
                self._now,
                preview=preview,
                events=batch.events[start:end],
                offsets=batch.offsets[start:end],
                log=lines if last else (),
                notes=batch.notes if last and not preview else (),
                loading=self._now.loading or not last,
                restarted=batch.restarted and start == 0,
            )


def _said(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{what}: {error.filename}" if error.filename else what
