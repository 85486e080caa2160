"""One metric over a whole run: every value kept, the lowest and highest of any stretch found fast."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite, nan

FANOUT = 16
"""How many values, or blocks of the level below, one block of the pyramid stands for."""

Extent = tuple[float, float]
NOTHING: Extent = (inf, -inf)


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


class Series:
    """Grows by `append`. Block extremes at 16, 256, 4096 ... values make `extent` cheap at any length."""

    def __init__(self) -> None:
        self.values = array("d")
        self.marks: list[int] = []
        """Where values stand that were measured but are not finite. A missing value is NaN without a mark."""
        self.generation = 0
        """Grows when values are taken back, so that what was derived from them can be thrown away."""
        self._levels: list[tuple[array[float], array[float]]] = []

    def __len__(self) -> int:
        return len(self.values)

    @property
    def last(self) -> float | None:
        """The newest value, None when there is none or it is missing; NaN and infinity count as values."""
        if not self.values or (self.values[-1] != self.values[-1] and not self._is_marked(len(self) - 1)):
            return None
        return self.values[-1]

    def append(self, value: float | None) -> None:
        """Add the next value; None says that it was not measured."""
        if value is None:
            value = nan
        elif not isfinite(value):
            self.marks.append(len(self.values))
        self.values.append(value)
        if len(self.values) % FANOUT == 0:
            self._close_blocks()

    def truncate(self, length: int) -> None:
        """Forget everything from index `length` on."""
        self.generation += 1
        del self.values[length:]
        del self.marks[bisect_left(self.marks, length) :]
        size = FANOUT
        for low, high in self._levels:
            del low[length // size :]
            del high[length // size :]
            size *= FANOUT

    def extent(self, start: int, end: int) -> Extent:
        """Lowest and highest finite value at indices start to end - 1, (inf, -inf) when there is none."""
        low, high = inf, -inf
        for below, above in self._pieces(start, min(end, len(self.values))):
            low, high = min(low, below), max(high, above)
        return low, high

    def finite(self, start: int, end: int | None = None) -> list[float]:
        """The finite values at indices start to end - 1."""
        return [value for value in self.values[start:end] if isfinite(value)]

    def _is_marked(self, index: int) -> bool:
        place = bisect_left(self.marks, index)
        return place < len(self.marks) and self.marks[place] == index

    def _close_blocks(self) -> None:
        extent = self._values_extent(len(self.values) - FANOUT, len(self.values))
        for level in range(64):
            if level == len(self._levels):
                self._levels.append((array("d"), array("d")))
            low, high = self._levels[level]
            low.append(extent[0])
            high.append(extent[1])
            if len(low) % FANOUT:
                return
            extent = (min(low[-FANOUT:]), max(high[-FANOUT:]))

    def _values_extent(self, start: int, end: int) -> Extent:
        finite = self.finite(start, end)
        return (min(finite), max(finite)) if finite else NOTHING

    def _pieces(self, start: int, end: int) -> Iterator[Extent]:
        """Extremes of stretches that together cover [start, end): ragged ends low down, whole blocks high up."""
        level = -1
        while end - start > 2 * FANOUT and level + 1 < len(self._levels):
            first, last = -(-start // FANOUT), min(end // FANOUT, len(self._levels[level + 1][0]))
            yield self._level_extent(level, start, first * FANOUT)
            yield self._level_extent(level, last * FANOUT, end)
            start, end, level = first, last, level + 1
        yield self._level_extent(level, start, end)

    def _level_extent(self, level: int, start: int, end: int) -> Extent:
        if start >= end:
            return NOTHING
        if level < 0:
            return self._values_extent(start, end)
        low, high = self._levels[level]
        return min(low[start:end]), max(high[start:end])


class Reducer:
    """Reduces a series to columns, and on the next call only looks again at the columns that grew."""

    def __init__(self) -> None:
        self._key: tuple[int, int, float, float, int] | None = None
        self._count = 0
        self._low: list[float] = []
        self._high: list[float] = []
        self._marks: set[int] = set()

    def reduce(self, steps: array[int], series: Series, start: float, end: float, columns: int) -> Columns:
        """Columns of equal width over the steps [start, end); `steps` and `series` run in parallel, steps ascending."""
        columns = max(columns, 0)
        key = (id(series), series.generation, start, end, columns)
        count = len(series)
        width = (end - start) / max(columns, 1)
        if key != self._key or not self._count:
            first = 0
            self._low, self._high, self._marks = [inf] * columns, [-inf] * columns, set()
        else:
            first = int((steps[self._count - 1] - start) / width) if width > 0 else 0
        self._key, self._count = key, count
        if width > 0:
            self._fill(steps, series, start, width, max(first, 0), columns)
        return Columns(start, end, tuple(self._low), tuple(self._high), frozenset(self._marks))

    def _fill(self, steps: array[int], series: Series, start: float, width: float, first: int, columns: int) -> None:
        left = bisect_left(steps, start + first * width)
        for column in range(first, columns):
            if left >= len(series):
                break
            right = bisect_left(steps, start + (column + 1) * width, left)
            if right > left:
                self._low[column], self._high[column] = series.extent(left, right)
            left = right
        self._mark(steps, series, start, width, first, columns)

    def _mark(self, steps: array[int], series: Series, start: float, width: float, first: int, columns: int) -> None:
        begin = bisect_left(steps, start + first * width)
        for index in series.marks[bisect_left(series.marks, begin) :]:
            column = int((steps[index] - start) / width)
            if 0 <= column < columns:
                self._marks.add(column)
