"""One metric over a whole run: every value kept, the lowest and highest of any stretch found fast."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection
from math import inf, isfinite, nan
from typing import Literal

from pgs_tui.history.pyramid import Extent, Pyramid
from pgs_tui.history.reducer import Columns, Reducer

__all__ = ["Columns", "Extent", "Precision", "Reducer", "Series"]

Precision = Literal["d", "f"]
"""float64, or float32 for what is only drawn: seven digits, half the memory."""
LARGEST = {"d": float.fromhex("0x1.fffffffffffffp+1023"), "f": float.fromhex("0x1.fffffep+127")}
"""The largest finite number of each; what is beyond it, but finite, is kept as it."""


class Series:
    """Grows by `append` and `extend`. Block extremes at 16, 256, 4096 ... values make `extent` cheap at any length."""

    def __init__(self, precision: Precision = "d") -> None:
        self.values = array(precision)
        self.marks = array("q")
        """Where values stand that were measured but are not finite. A missing value is NaN without a mark."""
        self.generation = 0
        """Grows when values are taken back, so that what was derived from them can be thrown away."""
        self._largest = LARGEST[precision]
        self._pyramid = Pyramid(precision)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def last(self) -> float | None:
        """The newest value, None when there is none or it is missing; NaN and infinity count as values."""
        return self.at(len(self) - 1) if self.values else None

    def at(self, index: int) -> float | None:
        """The value at an index, None where it is missing; NaN and infinity count as values."""
        value = self.values[index]
        return None if value != value and not self.is_marked(index) else value

    def is_marked(self, index: int) -> bool:
        """Whether a value was measured there that is not finite."""
        place = bisect_left(self.marks, index)
        return place < len(self.marks) and self.marks[place] == index

    def append(self, value: float | None) -> None:
        """Add the next value; None says that it was not measured."""
        if value is None:
            value = nan
        elif not isfinite(value):
            self.marks.append(len(self.values))
        else:
            value = self._clamped(value)
        self.values.append(value)
        self._pyramid.grow(self.values)

    def extend(self, values: array[float], nan_at: Collection[int] = ()) -> None:
        """Add many values at once; NaN is one that was not measured, but for those at the ascending places `nan_at`."""
        begin, precision = len(self.values), self.values.typecode
        rounded = values if values.typecode == precision else array(precision, values)
        if isfinite(sum(rounded)):
            self.values.extend(rounded)
        else:
            infinite = {place for place, value in enumerate(values) if abs(value) == inf}
            self.values.extend(map(self._clamped, values))
            self.marks.extend(begin + place for place in sorted(infinite.union(nan_at)))
        self._pyramid.grow(self.values)

    def truncate(self, length: int) -> None:
        """Forget everything from index `length` on."""
        self.generation += 1
        del self.values[length:]
        del self.marks[bisect_left(self.marks, length) :]
        self._pyramid.truncate(length)

    def extent(self, start: int, end: int) -> Extent:
        """Lowest and highest finite value at indices start to end - 1, (inf, -inf) when there is none."""
        return self._pyramid.extent(self.values, start, end)

    def finite(self, start: int, end: int | None = None) -> list[float]:
        """The finite values at indices start to end - 1."""
        values = self.values[start:end].tolist()
        return values if isfinite(sum(values)) else [value for value in values if isfinite(value)]

    def _clamped(self, value: float) -> float:
        return max(-self._largest, min(value, self._largest)) if isfinite(value) else value
