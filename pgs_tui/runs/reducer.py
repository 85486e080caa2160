"""A long curve as the few columns of a chart."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

from pgs_tui.runs.pyramid import Extent


@dataclass(frozen=True, slots=True)
class Columns:
    """A series reduced to the columns of a chart.

    `low[i]` and `high[i]` are the extremes of the finite values in column i, inf and -inf where it has none.
    `marks` are the columns that hold a value which was measured but is NaN or infinite.
    """

    start: float
    end: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    marks: frozenset[int]

    def extent(self) -> Extent:
        """Lowest and highest finite value of all columns, (inf, -inf) without any."""
        return min(self.low, default=inf), max(self.high, default=-inf)


class Reducible(Protocol):
    """A row of values, one for each step, of which any stretch can be summed up."""

    generation: int

    @property
    def marks(self) -> Sequence[int]:
        """Ascending indices of values that were measured but are not finite."""

    def __len__(self) -> int: ...

    def extent(self, start: int, end: int) -> Extent:
        """Lowest and highest finite value at indices start to end - 1, (inf, -inf) when there is none."""


class Reducer:
    """Reduces a series to columns, and on the next call only looks again at the columns that grew."""

    def __init__(self) -> None:
        self._key: tuple[int, int, int, float, float, int] | None = None
        self._count = 0
        self._low: list[float] = []
        self._high: list[float] = []
        self._marks: set[int] = set()

    def reduce(
        self, positions: array[int] | array[float], series: Reducible, start: float, end: float, columns: int
    ) -> Columns:
        """Columns of equal width over [start, end) of the x axis.

        `positions` says where each value of the series stands on that axis; they never descend.
        """
        columns = max(columns, 0)
        key = (id(positions), id(series), series.generation, start, end, columns)
        count = len(series)
        width = (end - start) / max(columns, 1)
        if key != self._key or not self._count:
            first = 0
            self._low, self._high, self._marks = [inf] * columns, [-inf] * columns, set()
        else:
            first = int((positions[self._count - 1] - start) / width) if width > 0 else 0
        self._key, self._count = key, count
        if width > 0 and columns and count:
            self._fill(positions, series, start, width, max(first, 0), columns)
        return Columns(start, end, tuple(self._low), tuple(self._high), frozenset(self._marks))

    def _fill(
        self,
        positions: array[int] | array[float],
        series: Reducible,
        start: float,
        width: float,
        first: int,
        columns: int,
    ) -> None:
        begin = left = bisect_left(positions, start + first * width)
        for column in range(first, columns):
            if left >= len(series):
                break
            right = bisect_left(positions, start + (column + 1) * width, left)
            if right > left:
                self._low[column], self._high[column] = series.extent(left, right)
            left = right
        self._mark(positions, series.marks, (begin, left), start, width)

    def _mark(
        self,
        positions: array[int] | array[float],
        marks: Sequence[int],
        indices: tuple[int, int],
        start: float,
        width: float,
    ) -> None:
        """Mark the columns that hold one of the marks; each is looked at once, however many it holds."""
        place, end = bisect_left(marks, indices[0]), bisect_left(marks, indices[1])
        while place < end:
            column = int((positions[marks[place]] - start) / width)
            self._marks.add(column)
            following = bisect_left(positions, start + (column + 1) * width, marks[place] + 1)
            place = bisect_left(marks, following, place + 1)
