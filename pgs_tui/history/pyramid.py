"""The lowest and highest of any stretch of a long row of numbers, found fast."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from math import inf, isfinite

FANOUT = 16
"""How many values, or blocks of the level below, one block stands for."""

Extent = tuple[float, float]
NOTHING: Extent = (inf, -inf)


class Pyramid:
    """Extremes of the finite ones of 16, 256, 4096 ... values, in levels of blocks. The values stay with the caller."""

    def __init__(self, typecode: str = "d") -> None:
        self._typecode = typecode
        self._levels: list[tuple[array[float], array[float]]] = []

    @property
    def covered(self) -> int:
        """How many values stand in whole blocks."""
        return len(self._levels[0][0]) * FANOUT if self._levels else 0

    def grow(self, values: array[float]) -> None:
        """Take in what was appended to the values since the last time."""
        begin = self.covered
        if len(values) - begin >= FANOUT:
            self.close(*blocks_of(values[begin : len(values) // FANOUT * FANOUT]))

    def close(self, low: Sequence[float], high: Sequence[float]) -> None:
        """Add the extremes of the next whole blocks, and close the blocks above that they fill."""
        level = 0
        while low:
            if level == len(self._levels):
                self._levels.append((array(self._typecode), array(self._typecode)))
            lows, highs = self._levels[level]
            closed = len(lows) // FANOUT
            lows.extend(low)
            highs.extend(high)
            starts = range(closed * FANOUT, len(lows) // FANOUT * FANOUT, FANOUT)
            low = [min(lows[start : start + FANOUT]) for start in starts]
            high = [max(highs[start : start + FANOUT]) for start in starts]
            level += 1

    def truncate(self, length: int) -> None:
        """Forget the blocks that reach beyond the first `length` values."""
        for low, high in self._levels:
            length //= FANOUT
            del low[length:]
            del high[length:]

    def extent(self, values: array[float], start: int, end: int) -> Extent:
        """Lowest and highest finite value at indices start to end - 1, (inf, -inf) when there is none."""
        end = min(end, len(values))
        if end - start <= 2 * FANOUT or not self._levels:
            return extent_of(values[start:end])
        lows, highs = self._levels[0]
        first, last = -(-start // FANOUT), min(end // FANOUT, len(lows))
        if last - first > 2 * FANOUT:
            low, high = self.blocks_extent(first, last)
        else:
            low, high = min(lows[first:last], default=inf), max(highs[first:last], default=-inf)
        for piece in (values[start : first * FANOUT], values[last * FANOUT : end]):  # its ends are in no whole block
            if piece:
                below, above = extent_of(piece)
                low, high = min(low, below), max(high, above)
        return low, high

    def blocks_extent(self, start: int, end: int) -> Extent:
        """The same of the blocks `start` to `end - 1`, for a caller that has no values left."""
        if not self._levels:
            return NOTHING
        low, high = NOTHING
        for below, above in self._pieces_from(0, start, min(end, len(self._levels[0][0]))):
            low, high = min(low, below), max(high, above)
        return low, high

    def _pieces_from(self, level: int, start: int, end: int) -> Iterator[Extent]:
        while end - start > 2 * FANOUT and level + 1 < len(self._levels):
            first, last = -(-start // FANOUT), min(end // FANOUT, len(self._levels[level + 1][0]))
            yield self._level_extent(level, start, first * FANOUT)
            yield self._level_extent(level, last * FANOUT, end)
            start, end, level = first, last, level + 1
        yield self._level_extent(level, start, end)

    def _level_extent(self, level: int, start: int, end: int) -> Extent:
        if start >= end:
            return NOTHING
        low, high = self._levels[level]
        return min(low[start:end]), max(high[start:end])


def extent_of(values: Sequence[float]) -> Extent:
    """Lowest and highest finite value, (inf, -inf) without any."""
    if not isfinite(sum(values)):
        values = [value for value in values if isfinite(value)]
    return (min(values), max(values)) if len(values) else NOTHING


def blocks_of(values: array[float]) -> tuple[list[float], list[float]]:
    """The extremes of each 16 values, whose number is a multiple of that."""
    flat = values.tolist()
    pieces = [flat[start : start + FANOUT] for start in range(0, len(flat), FANOUT)]
    if isfinite(sum(flat)):
        return [min(piece) for piece in pieces], [max(piece) for piece in pieces]
    extents = [extent_of(piece) for piece in pieces]
    return [low for low, _ in extents], [high for _, high in extents]
