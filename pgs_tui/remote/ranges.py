"""Which bytes of a file are there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class Ranges:
    """A set of whole numbers from 0 on, as ranges that neither touch nor overlap."""

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        for begin, end in ranges:
            self.add(begin, end)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(list(zip(self._begins, self._ends, strict=True)))

    def add(self, begin: int, end: int) -> None:
        """Add the numbers from `begin` to `end - 1`."""
        assert begin >= 0, "a range begins at 0 or later"
        if begin >= end:
            return
        first = bisect_left(self._ends, begin)
        last = bisect_right(self._begins, end)
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last] = [begin]
        self._ends[first:last] = [end]

    def have(self, begin: int, end: int) -> bool:
        """Whether all from `begin` to `end - 1` are in it."""
        return begin >= end or self.end_of(begin) >= end

    def end_of(self, place: int) -> int:
        """The first number from `place` on that is not in it."""
        at = bisect_right(self._begins, place) - 1
        return max(place, self._ends[at]) if at >= 0 else place

    def next_after(self, place: int) -> int | None:
        """The first number from `place` on that is in it, None where there is none."""
        if self.end_of(place) > place:
            return place
        at = bisect_right(self._begins, place)
        return self._begins[at] if at < len(self._begins) else None

    @property
    def last(self) -> int:
        """One beyond the largest number, 0 of an empty set."""
        return self._ends[-1] if self._ends else 0
