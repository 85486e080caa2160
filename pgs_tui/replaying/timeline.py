"""When each step of a log was told, without the gaps in which nothing happened."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from engine.events.columns import Block, GpuColumns, StepColumns

LONGEST_GAP = 60.0
"""Seconds without news that are played; of longer ones nothing is seen."""
USUAL_STEPS = 10
"""A run whose steps take long: no gap is one that is shorter than so many of its usual steps."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the run: `t` by the clock of then (unix seconds).

    Told by then are the lines that begin before the byte `upto`, and of those up to `limit` the ones that are no
    younger than `t`. `steps` is how many steps they are.
    """

    t: float
    upto: int
    limit: int
    steps: int


class Timeline:
    """Places of a log in order, each with its byte, its time, and when it is played.

    `steps` are the numbers of the steps in the order of the log, in which they may go back; `length` is how long it all
    is in seconds, played as fast as it was.
    """

    def __init__(self, blocks: Iterable[Block], first_t: float, last_t: float, size: int) -> None:
        """`blocks` are all of a log of `size` bytes whose first line is of `first_t`, the last of `last_t`."""
        self.size = size
        self.steps = array("q")
        self._of_steps = array("q")
        self._offsets, self._times = _places(blocks, first_t)
        self._played = array("d", [0.0])
        for block_step, place in self._steps_in(blocks):
            self.steps.append(block_step)
            self._of_steps.append(place)
        self._close(last_t)

    @property
    def length(self) -> float:
        return self._played[-1]

    def at(self, played: float) -> Moment:
        """What stands after so many seconds of playing."""
        place = max(bisect_right(self._played, played) - 1, 0)
        if place >= len(self._offsets) - 1:
            return self.end()
        lasts = self._played[place + 1] - self._played[place]
        t = self._times[place] + min(max(played - self._played[place], 0.0), lasts)
        return Moment(t, self._offsets[place] + 1, self._offsets[place + 1], bisect_right(self._of_steps, place))

    def begin(self) -> Moment:
        """Before the first line."""
        return Moment(self._times[0], 0, 0, 0)

    def end(self) -> Moment:
        """All of it."""
        return Moment(self._times[-1], self.size, self.size, len(self.steps))

    def after_step(self, index: int) -> Moment:
        """When the step at that index of `steps` had been told, and all that came before the next one."""
        if index < 0:
            return self.begin()
        if index >= len(self.steps) - 1:
            return self.end()
        place = self._of_steps[index + 1]
        gap = self._played[place] == self._played[place - 1]
        t = self._times[place - 1] if gap else self._times[place]
        return Moment(max(t, self._times[self._of_steps[index]]), self._offsets[place], self._offsets[place], index + 1)

    def played_after_step(self, index: int) -> float:
        """How long it is played until then."""
        if index < 0:
            return 0.0
        return self.length if index >= len(self.steps) - 1 else self._played[self._of_steps[index + 1]]

    def played_at_step(self, index: int) -> float:
        """How long it is played until that step is told."""
        return self._played[self._of_steps[index]] if index >= 0 else 0.0

    def index_of(self, step: int) -> int:
        """The index in `steps` of that step, as it was told last; else of the newest below it; -1 before the first."""
        numbers = self.steps
        exact = next((index for index in range(len(numbers) - 1, -1, -1) if numbers[index] == step), None)
        if exact is not None:
            return exact
        below = [(number, index) for index, number in enumerate(numbers) if number < step]
        return max(below)[1] if below else -1

    def _steps_in(self, blocks: Iterable[Block]) -> Iterable[tuple[int, int]]:
        for block in blocks:
            if isinstance(block, StepColumns):
                for step, offset in zip(block.step, block.offset, strict=True):
                    yield step, bisect_left(self._offsets, offset)

    def _close(self, last_t: float) -> None:
        """Add the end, and say when each place is played."""
        self._offsets.append(self.size)
        self._times.append(max(last_t, self._times[-1]))
        longest = max(LONGEST_GAP, USUAL_STEPS * _usual(self._times[place] for place in self._of_steps))
        for before, after in pairwise(self._times):
            seconds = after - before
            self._played.append(self._played[-1] + (seconds if 0 < seconds <= longest else 0.0))


def _places(blocks: Iterable[Block], first_t: float) -> tuple[array[int], array[float]]:
    places = [(0, first_t)]
    for block in blocks:
        if isinstance(block, StepColumns | GpuColumns):
            places += zip(block.offset, block.t, strict=True)
    places.sort()
    if len(places) > 1 and places[1][0] == 0:
        del places[0]
    return array("q", [offset for offset, _ in places]), array("d", [t for _, t in places])


def _usual(times: Iterable[float]) -> float:
    """The median of the seconds between two steps; 0 where there are none."""
    between = sorted(after - before for before, after in pairwise(times))
    return between[len(between) // 2] if between else 0.0
