"""The exponential moving average of a series, without a second number for each of its values."""

from __future__ import annotations

from array import array
from math import isfinite, nan

from pgs_tui.history.pyramid import NOTHING, Extent, Pyramid, extent_of
from pgs_tui.history.series import Series

BLOCK = 32
"""The average is kept at the end of each 32 values, with its extremes within; between them it is worked out again."""

FEW = 32
"""So many blocks are looked through one by one."""
AT_ONCE = 64
"""Blocks that are taken in together."""
NO_BIAS = 1e-12
"""An average that weighs this little less than 1 has no bias left that anybody could see."""


class Smoothed:
    """`alpha * old + (1 - alpha) * new`, its bias at the start taken out; values that are not finite are passed over.

    It can be reduced to columns as a series can, once `follow` has taken in what the series gained.
    """

    def __init__(self, raw: Series, alpha: float) -> None:
        self.alpha = alpha
        self.generation = 0
        """Grows when averages are taken back."""
        self._raw = raw
        self._means, self._weights = array("d", [0.0]), array("d", [0.0])
        """Before each block: the average is mean / weight, and there is none while the weight is 0.

        Behind the first weight without a bias there are no more of them.
        """
        self._last_block: tuple[int, int, list[float]] = (-1, 0, [])
        """The block that was worked out last, up to which index, and its averages: two columns often share one."""
        self._low, self._high = array("d"), array("d")
        self._lows, self._highs = Pyramid(), Pyramid()

    def __len__(self) -> int:
        return len(self._raw)

    @property
    def marks(self) -> tuple[int, ...]:
        """None: an average is always finite."""
        return ()

    @property
    def last(self) -> float | None:
        """The newest average, None before the first finite value."""
        return self.at(len(self._raw) - 1) if len(self._raw) else None

    def at(self, index: int) -> float | None:
        """The average after the value at that index, None before the first finite value."""
        average = self._averages(index // BLOCK, index + 1)[-1]
        return average if isfinite(average) else None

    def follow(self) -> Smoothed:
        """Itself, after it has taken in what the series gained."""
        whole = len(self._raw) // BLOCK
        while len(self._low) < whole:
            self._close(1 if self._is_biased else min(whole - len(self._low), AT_ONCE))
        return self

    def extent(self, start: int, end: int) -> Extent:
        """Lowest and highest average at indices start to end - 1, (inf, -inf) when there is none."""
        end = min(end, len(self._raw))
        if start >= end:
            return NOTHING
        first, last = -(-start // BLOCK), min(end // BLOCK, len(self._low))
        if first > last:
            return self._within(last, start, end)
        low, high = self._within(first - 1, start, first * BLOCK) if start < first * BLOCK else NOTHING
        if 0 < last - first <= FEW:
            low, high = min(low, *self._low[first:last]), max(high, *self._high[first:last])
        elif first < last:
            low = min(low, self._lows.extent(self._low, first, last)[0])
            high = max(high, self._highs.extent(self._high, first, last)[1])
        if last * BLOCK < end:
            below, above = self._within(last, last * BLOCK, end)
            low, high = min(low, below), max(high, above)
        return low, high

    def truncate(self, length: int) -> None:
        """Forget the averages from index `length` on, as the series has forgotten its values."""
        blocks = length // BLOCK
        self.generation += 1
        self._last_block = (-1, 0, [])
        del self._means[blocks + 1 :]
        del self._weights[blocks + 1 :]
        del self._low[blocks:]
        del self._high[blocks:]
        self._lows.truncate(blocks)
        self._highs.truncate(blocks)

    def _within(self, block: int, start: int, end: int) -> Extent:
        """Extremes at indices of one block; that which is not whole yet reaches to the newest value."""
        until = (block + 1) * BLOCK if block < len(self._low) else len(self._raw)
        if (block, until) != self._last_block[:2]:
            self._last_block = block, until, self._averages(block, until)
        begin = block * BLOCK
        return extent_of(self._last_block[2][start - begin : end - begin])

    def _close(self, count: int) -> None:
        """Take in the next blocks; several at once only where there is no bias."""
        begin = len(self._low)
        averages, mean, weight = self._run(begin, (begin + count) * BLOCK)
        pieces = [averages[start : start + BLOCK] for start in range(0, len(averages), BLOCK)]
        extents = [extent_of(pieces[0])] if count == 1 else [(min(piece), max(piece)) for piece in pieces]
        self._low.extend(low for low, _ in extents)
        self._high.extend(high for _, high in extents)
        self._lows.grow(self._low)
        self._highs.grow(self._high)
        if self._is_biased:
            self._weights.append(weight)
        self._means.extend([mean] if count == 1 else [piece[-1] for piece in pieces])

    @property
    def _is_biased(self) -> bool:
        """Whether the last average that was kept still leans to the values it began with."""
        return 1 - self._weights[-1] >= NO_BIAS

    def _averages(self, block: int, end: int) -> list[float]:
        return self._run(block, end)[0]

    def _run(self, block: int, end: int) -> tuple[list[float], float, float]:
        """Averages from the block's first index to `end - 1`, NaN before the first finite value; mean and weight."""
        mean, weight, alpha = self._means[block], self._weights[min(block, len(self._weights) - 1)], self.alpha
        fresh = 1 - alpha
        averages: list[float] = []
        values = self._raw.values[block * BLOCK : end]
        if 1 - weight < NO_BIAS and isfinite(sum(values)):
            for value in values:
                mean = alpha * mean + fresh * value
                averages.append(mean)
            return averages, mean, weight
        for value in values:
            if isfinite(value):
                mean = alpha * mean + fresh * value
                weight = alpha * weight + fresh
            averages.append(mean / weight if weight else nan)
        return averages, mean, weight
