"""The parts of the steps' time reduced to columns, again and again while the run goes on."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from pgs_tui.history.step_parts import BLOCK, PARTS, PartName, StepParts


@dataclass(frozen=True, slots=True)
class PartColumns:
    """Seconds by part in the columns of a chart: `seconds[part][i]` are those in column i, 0 where there were none.

    `eval` and `checkpoint` come on top of the steps' own time; `other` is what of that the parts do not explain.
    """

    start: float
    end: float
    seconds: Mapping[PartName, tuple[float, ...]]

    def whole(self, column: int) -> float:
        """All seconds of a column."""
        return sum(amounts[column] for amounts in self.seconds.values())


class PartReducer:
    """Looks, on the next call, only at the columns that may have changed: those of the newest steps."""

    def __init__(self, parts: StepParts) -> None:
        self._parts = parts
        self._key: tuple[object, ...] = ()
        self._settled = 0
        self._seconds: list[dict[PartName, float]] = []

    def reduce(
        self, positions: array[int] | array[float], steps: array[int], start: float, end: float, count: int
    ) -> PartColumns:
        """`count` columns of equal width over [start, end) of the x axis on which the steps stand at `positions`."""
        width = (end - start) / max(count, 1)
        if width <= 0:
            return PartColumns(start, end, {part: (0.0,) * max(count, 0) for part in PARTS})
        key = (id(positions), self._parts.generation, start, end, count)
        if key != self._key:
            self._key, self._settled = key, 0
        columns = range(self._settled, count + 1)
        edges = [bisect_left(positions, start + column * width) for column in columns]
        changed = [self._parts.seconds(steps, left, right) for left, right in pairwise(edges)]
        self._seconds = self._seconds[: self._settled] + changed
        if len(steps) > BLOCK:  # within the newest block a step still counts as what it took, not as the block's mean
            settled = int((positions[len(steps) - 1 - BLOCK] - start) // width)
            self._settled = min(max(settled, 0), count)
        return PartColumns(start, end, {part: tuple(one[part] for one in self._seconds) for part in PARTS})
