"""A long curve as the few columns of a chart."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Protocol

from pgs_tui.history.pyramid import Extent


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


class Edges:
    """Between which steps the columns of a chart begin and end: the same for all metrics, so it is looked up once."""

    def __init__(self) -> None:
        self.generation = 0
        """To be another number once steps were taken back."""
        self._key: tuple[int, int, int, float, float] | None = None
        self._known: dict[int, list[int]] = {}

    def of(self, positions: array[int] | array[float], count: int, start: float, end: float, columns: int) -> list[int]:
        """The index of the first of `count` steps behind the begin of each column, and behind the end of the last."""
        key = (self.generation, id(positions), count, start, end)
        if key != self._key:
            self._key, self._known = key, {}
        if columns not in self._known:
            width = (end - start) / columns
            place, edges = 0, []
            for column in range(columns + 1):
                place = bisect_left(positions, start + column * width, place, count)
                edges.append(place)
            self._known[columns] = edges
        return self._known[columns]


class Reducer:
    """Reduces a series to columns, and on the next call only looks again at the columns that grew."""

    def __init__(self, edges: Edges | None = None) -> None:
        """`edges` are those that reducers of other metrics of the same steps use too."""
        self._edges = edges
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
            first = min(max(first, 0), columns)  # the newest step may stand outside
        self._key, self._count = key, count
        if width > 0 and columns and count:
            if not first:
                edges = (self._edges or Edges()).of(positions, count, start, end, columns)
            else:
                edges = [bisect_left(positions, start + column * width) for column in range(first, columns + 1)]
            self._fill(series, edges, first)
            self._mark(positions, series.marks, (edges[0], edges[-1]), start, width)
        return Columns(start, end, tuple(self._low), tuple(self._high), frozenset(self._marks))

    def _fill(self, series: Reducible, edges: Sequence[int], first: int) -> None:
        """Look at the columns from `first` on, between these indices."""
        extent, count = series.extent, len(series)
        for column, (left, right) in enumerate(pairwise(edges), first):
            if left >= count:
                break
            if right > left:
                self._low[column], self._high[column] = extent(left, right)

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
