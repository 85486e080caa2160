"""The newest steps of a run, which speak for the present, and how quickly they come while its engine is at work."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

from engine.events import Step
from engine.events.columns import StepColumns
from engine.events.silences import is_silence
from pgs_tui.history.rows_of_columns import steps_of


@dataclass(frozen=True, slots=True)
class _Before:
    """What came before a step: seconds of pauses, all in all, and whether anything was told since the step before."""

    paused: float
    is_told: bool


class RecentSteps:
    """The newest `most` steps with their times. Those that came in blocks become steps only when someone asks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._steps: deque[tuple[float, Step]] = deque(maxlen=most)
        self._before: deque[_Before] = deque(maxlen=most)
        """Of each of `_steps`."""
        self._blocks: deque[tuple[StepColumns, _Before]] = deque()
        """What came after `_steps`, and what came before the first step of each."""
        self._in_blocks = 0
        self._paused = 0.0
        self._is_told = False

    def append(self, t: float, step: Step) -> None:
        """Add the newest step."""
        self.all().append((t, step))
        self._before.append(self._came_before())

    def extend(self, block: StepColumns) -> None:
        """Add the newest steps."""
        newest = block.part(max(len(block) - self._most, 0), len(block))
        self._blocks.append((newest, self._came_before()))
        self._in_blocks += len(newest)
        while self._in_blocks - len(self._blocks[0][0]) >= self._most:
            self._in_blocks -= len(self._blocks.popleft()[0])

    def tell_other(self, paused: float = 0.0) -> None:
        """Something else was told than a step: what takes so long has a name, or was a pause of so many seconds."""
        self._is_told = True
        self._paused += paused

    def all(self) -> deque[tuple[float, Step]]:
        """They, in order."""
        for block, before in self._blocks:
            self._steps.extend((told.t, told.step) for told in steps_of(block))
            self._before.append(before)
            self._before.extend([_Before(before.paused, is_told=False)] * (len(block) - 1))
        self._blocks.clear()
        self._in_blocks = 0
        return self._steps

    def seconds_per_step(self) -> float | None:
        """Time at work per step, evaluation and saving included, but no pause and no silence; None before two steps."""
        recent = self.all()
        if len(recent) < 2:
            return None
        steps = recent[-1][1].step - recent[0][1].step
        seconds = sum(self._seconds_between())
        return seconds / steps if steps > 0 and seconds > 0 else None

    def clear(self) -> None:
        """Forget them."""
        self._blocks.clear()
        self._in_blocks = 0
        self._steps.clear()
        self._before.clear()

    def _came_before(self) -> _Before:
        before = _Before(self._paused, self._is_told)
        self._is_told = False
        return before

    def _seconds_between(self) -> list[float]:
        seconds = []
        pauses = pairwise(self._before)
        for ((t, step), (next_t, _)), (before, next_before) in zip(pairwise(self._steps), pauses, strict=True):
            gap = next_t - t - (next_before.paused - before.paused)
            slept = not next_before.is_told and is_silence(gap, step.dt)
            seconds.append(step.dt if slept else gap)
        return seconds
