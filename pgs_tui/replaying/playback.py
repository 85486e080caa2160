"""Which moment of a run is shown: it goes on by itself, faster than the run did, or stands where it was put."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock

from pgs_tui.replaying.timeline import Moment, Timeline

SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
USUAL_SPEED = 10.0


class Playback:
    """Asked from the thread that brings the news, steered from that of the screen.

    Until the log is known (`begin`) there is no moment.
    """

    def __init__(self, speed: float = USUAL_SPEED, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = RLock()
        self._speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self._timeline: Timeline | None = None
        self._played = 0.0
        self._since: float | None = None
        """When it was let go, by the clock; None while it stands."""
        self._stands_at: Moment | None = None

    @property
    def speed(self) -> float:
        return self._speed

    @property
    def plays(self) -> bool:
        """Whether it goes on by itself."""
        return self._since is not None and not self.is_at_end

    @property
    def is_at_end(self) -> bool:
        """Whether all of the run has been shown."""
        moment = self.moment()
        return moment is not None and self._timeline is not None and moment.upto >= self._timeline.size

    @property
    def step(self) -> int | None:
        """The newest step that is shown."""
        moment = self.moment()
        if moment is None or self._timeline is None or moment.steps == 0:
            return None
        return self._timeline.steps[moment.steps - 1]

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest step; 0 and 0 where there is none."""
        steps = self._timeline.steps if self._timeline is not None else ()
        return min(steps, default=0), max(steps, default=0)

    def begin(self, timeline: Timeline, at: int | None = None, plays: bool = True) -> None:
        """The log is known: from its begin, or from after the step `at`."""
        with self._lock:
            self._timeline = timeline
            index = timeline.index_of(at) if at is not None else -1
            if at is not None:
                self._stand_at(index)
            if plays and (at is None or self.has_times):
                self._go_from(index)

    @property
    def has_times(self) -> bool:
        """False where all was told at one moment, so that there is nothing to play."""
        return self._timeline is not None and self._timeline.length > 0

    def moment(self) -> Moment | None:
        """What is shown now."""
        with self._lock:
            if self._timeline is None:
                return None
            return self._stands_at or self._timeline.at(self._played_by_now())

    def play(self) -> bool:
        """Go on, or stand; from the end it begins anew. Returns whether it goes on."""
        with self._lock:
            if self.is_at_end:
                self._played, self._stands_at, self._since = 0.0, None, None
            if self._since is None:
                self._go()
            else:
                self._hold()
            return self._since is not None

    def change_speed(self, by: int) -> float:
        """To the next of SPEEDS, up or down. Returns the speed."""
        with self._lock:
            self._played = self._played_by_now()
            faster = [one for one in SPEEDS if one > self._speed]
            slower = [one for one in SPEEDS if one < self._speed]
            self._speed = (faster[:1] or [SPEEDS[-1]])[0] if by > 0 else (slower[-1:] or [SPEEDS[0]])[0]
            self._since = self._clock() if self._since is not None else None
            return self._speed

    def seek(self, step: int) -> int | None:
        """To that step as it was told last, or the newest below it; it goes on from there if it did before.

        Returns the step that is shown then, None before the first.
        """
        with self._lock:
            assert self._timeline is not None, "the log is known"
            plays, index = self.plays, self._timeline.index_of(step)
            self._stand_at(index)
            if plays:
                self._go_from(index)
            return self.step

    def step_by(self, by: int) -> int | None:
        """So many steps on or back, and stand there. Returns the step that is shown then."""
        with self._lock:
            moment = self.moment()
            assert moment is not None, "the log is known"
            self._stand_at(moment.steps - 1 + by)
            return self.step

    def _stand_at(self, index: int) -> None:
        assert self._timeline is not None, "the log is known"
        self._stands_at = self._timeline.after_step(index)
        self._played, self._since = self._timeline.played_after_step(index), None

    def _go_from(self, index: int) -> None:
        """From when that step was told."""
        assert self._timeline is not None, "the log is known"
        self._played = self._timeline.played_at_step(index)
        self._go()

    def _go(self) -> None:
        self._stands_at, self._since = None, self._clock()

    def _hold(self) -> None:
        self._played, self._since = self._played_by_now(), None

    def _played_by_now(self) -> float:
        assert self._timeline is not None, "the log is known"
        passed = (self._clock() - self._since) * self._speed if self._since is not None else 0.0
        return min(self._played + passed, self._timeline.length)
