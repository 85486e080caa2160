"""The last values of a metric, kept in order of size as they come and go: medians without sorting at each step."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, insort_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence


class SortedWindow:
    """The newest `size` values. What it tells is the very number that sorting them would lead to."""

    def __init__(self, size: int, values: Iterable[float] = ()) -> None:
        self._size = size
        self._values: deque[float] = deque()
        self._ascending: list[float] = []
        """Without those that are not a number: they have no place."""
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[float]:
        """In the order in which they came."""
        return iter(self._values)

    def append(self, value: float) -> None:
        """Take in a value; the oldest one goes where there is no room."""
        values, ascending = self._values, self._ascending
        if len(values) == self._size:
            oldest = values.popleft()
            if oldest == oldest:
                del ascending[bisect_left(ascending, oldest)]
        values.append(value)
        if value == value:
            insort_right(ascending, value)

    def median(self) -> float:
        """The median of at least one value; what Python's sorting makes of them where one is not a number."""
        ascending, count = self._ascending, len(self._values)
        if len(ascending) != count:
            ascending = sorted(self._values)
        half = count // 2
        return ascending[half] if count % 2 else (ascending[half - 1] + ascending[half]) / 2


def median_distance(ascending: Sequence[float], center: float) -> float:
    """The median of the distances of ascending values from `center`, found in steps of halving."""
    if not math.isfinite(center) or math.isnan(sum(ascending)):  # distances that are not in order
        return statistics.median(abs(value - center) for value in ascending)
    count = len(ascending)
    nearest = count // 2 + count % 2
    first, last = 0, count - nearest
    while first < last:  # where the `nearest` values that lie closest begin
        middle = (first + last) // 2
        if center - ascending[middle] > ascending[middle + nearest] - center:
            first = middle + 1
        else:
            last = middle
    end = first + nearest
    farthest = max(abs(ascending[first] - center), abs(ascending[end - 1] - center))
    if count % 2:
        return farthest
    beyond = (abs(ascending[place] - center) for place in (first - 1, end) if 0 <= place < count)
    return (farthest + min(beyond)) / 2
