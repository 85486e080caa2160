"""Follows a run from a thread of its own: one frozen update per poll that brought something."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from engine.events import Batch, End, EventReader, Stamped
from engine.events.columns import Block
from engine.rundir import RunDir, RunInfo, is_same_process, read_run_info
from pgs_tui.runs.console import ConsoleTail

Life = Literal["starting", "live", "gone", "elsewhere"]

FASTEST = 0.1
SLOWEST = 0.5
SLOWEST_AFTER_END = 2.0
LIFE_EVERY = 0.5
"""Seconds between two polls of a busy and of a quiet run, of one that is over, and between two looks at its engine."""
EVENTS_PER_UPDATE = 2000
"""A long past comes in slices, so that the screen stays quick while it loads."""


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
    """The log was emptied or replaced: all that was known is void, and these events come from its new start."""
    survey: bool = False
    """A sample of the past to be drawn while it is read; all of it comes again, so it must not be kept."""
    progress: float | None = None
    """The share of the past that has been read, while `loading`."""
    trouble: str | None = None
    """Why the log cannot be read at the moment; it is tried again."""


@dataclass
class Engine:
    """The engine of a run: a child of this process, or only known from the run's `run.json`."""

    run: RunDir
    process: subprocess.Popen[bytes] | None = None
    started: float = field(default_factory=time.monotonic)
    patience: float = 60.0
    """Seconds that a run without `run.json`, started elsewhere, may take to show one."""

    def look(self) -> tuple[Life, int | None]:
        """Whether it lives, and its exit code if it was a child and is gone."""
        exit_code = self.process.poll() if self.process else None
        if self.process and exit_code is None:
            return "live", None
        info = read_run_info(self.run)
        if info is not None:
            return self._known(info), exit_code
        waiting = self.process is None and time.monotonic() - self.started < self.patience
        return ("starting" if waiting else "gone"), exit_code

    def _known(self, info: RunInfo) -> Life:
        if is_same_process(info):
            return "live"
        return "gone" if _is_here(info) else "elsewhere"


def _is_here(info: RunInfo) -> bool:
    return info.host == socket.gethostname()


class Follower:
    """Polls quickly while much happens and slowly while nothing does."""

    def __init__(
        self,
        reader: Reader,
        log: Log,
        look: Callable[[], tuple[Life, int | None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._log = log
        self._look = look
        self._clock = clock
        self._looked: float | None = None
        self._life: Life = "starting"
        self._exit_code: int | None = None
        self._ended = False
        self.pause = FASTEST
        """Seconds to wait before the next poll."""

    @classmethod
    def of(cls, run: RunDir, process: subprocess.Popen[bytes] | None = None) -> Follower:
        """The follower of a run on this machine; `process` is its engine if this program started it."""
        return cls(EventReader(run.events), ConsoleTail(run.console_log), Engine(run, process).look)

    def poll(self) -> Iterator[Update]:
        """What is new since the last poll, in slices; nothing when nothing is."""
        before = self._life
        self._see_life()
        batch = self._reader.poll()
        lines = self._log.poll()
        if self._life == "gone" and before != "gone":
            lines += self._log.rest()
        self._ended = self._is_over(batch)
        self._set_pause(bool(batch) or bool(lines), batch.more)
        if batch or lines or self._life != before:
            yield from self._slices(batch, lines)

    def run(self, deliver: Callable[[Update], None], wait: Callable[[float], bool]) -> None:
        """Deliver updates until `wait(seconds)` returns True, which means that nobody wants them any more."""
        stopped = False
        while not stopped:
            for update in self.poll():
                deliver(update)
            stopped = wait(self.pause)

    def _see_life(self) -> None:
        now = self._clock()
        if self._looked is None or now - self._looked >= LIFE_EVERY:
            self._looked = now
            self._life, self._exit_code = self._look()

    def _is_over(self, batch: Batch) -> bool:
        if self._life == "live":
            return False
        return self._ended or self._life == "gone" or any(isinstance(one.event, End) for one in batch.events)

    def _set_pause(self, busy: bool, more: bool) -> None:
        slowest = SLOWEST_AFTER_END if self._ended else SLOWEST
        self.pause = 0.0 if more else FASTEST if busy else min(self.pause * 1.5 or FASTEST, slowest)

    def _slices(self, batch: Batch, lines: tuple[str, ...]) -> Iterator[Update]:
        starts = range(0, max(len(batch.events), 1), EVENTS_PER_UPDATE)
        for start in starts:
            last = start == starts[-1]
            yield Update(
                events=batch.events[start : start + EVENTS_PER_UPDATE],
                log=lines if last else (),
                notes=batch.notes if last else (),
                life=self._life,
                exit_code=self._exit_code,
                loading=batch.more or not last,
            )
