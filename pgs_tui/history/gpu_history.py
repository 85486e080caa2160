"""What the GPUs of a run did over time: utilisation, temperature, power, memory in use, throttling."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import inf, isfinite, nan
from typing import Literal, get_args

from engine.events import Gpu
from engine.events.columns import GpuColumns
from pgs_tui.history.axis import LAST_SECOND, WallStretch
from pgs_tui.history.pyramid import NOTHING, Extent, extent_of

MOST = 16384
"""A card has at most so many readings; then each two neighbours become one, which keeps the lowest and the highest."""
MOST_CARDS = 256

GpuField = Literal["utilisation", "temperature", "power", "used_by_us"]
FIELDS: tuple[GpuField, ...] = get_args(GpuField)


class GpuHistory:
    """The readings of one card: `t` ascends, unix seconds; a clock that was set back stands still meanwhile."""

    def __init__(self) -> None:
        self.t = array("d")
        self._low = {field: array("f") for field in FIELDS}
        self._high = {field: array("f") for field in FIELDS}
        self._throttled = bytearray()
        self._stride = 1
        """How many readings one place stands for."""
        self._filled = 0
        """How many of them the last place holds."""

    def __len__(self) -> int:
        return len(self.t)

    def extend(self, times: Sequence[float], columns: Sequence[Sequence[float]], throttled: Sequence[float]) -> None:
        """Add readings, a column of values for each of FIELDS, NaN where nothing was measured.

        Those without a usable time are left out.
        """
        before = self.t[-1] if self.t else -LAST_SECOND
        usable = [place for place, t in enumerate(times) if abs(t) <= LAST_SECOND]
        if len(usable) < len(times):
            columns = [[column[place] for place in usable] for column in columns]
            throttled = [throttled[place] for place in usable]
        ascending = list(accumulate((times[place] for place in usable), max, initial=before))[1:]
        columns = [[value if isfinite(value) else nan for value in column] for column in columns]
        place = 0
        while place < len(ascending):
            room = self._make_room()
            here = slice(place, place + room)
            add = self._add_each if self._stride == 1 else self._add_to_last
            add(ascending[here], [column[here] for column in columns], throttled[here])
            place += room

    @property
    def stride(self) -> int:
        """How many readings one place stands for; when it grows, all of them have moved."""
        return self._stride

    def extent(self, field: GpuField, stretches: Iterable[WallStretch]) -> Extent:
        """Lowest and highest reading within stretches of time, the end included, (inf, -inf) without any."""
        low, high = NOTHING
        for start, end in self._ranges(stretches):
            low = min(low, extent_of(self._low[field][start:end])[0])
            high = max(high, extent_of(self._high[field][start:end])[1])
        return low, high

    def was_throttled(self, stretches: Iterable[WallStretch]) -> bool:
        """Whether it gave a reason to throttle within these stretches of time."""
        return any(any(self._throttled[start:end]) for start, end in self._ranges(stretches))

    def has(self, field: GpuField) -> bool:
        """Whether this was ever measured."""
        return any(value == value for value in self._low[field])

    def _ranges(self, stretches: Iterable[WallStretch]) -> Iterable[tuple[int, int]]:
        """Indices; a place that stands for several readings belongs to where its last one does."""
        for begin, until in stretches:
            start, end = bisect_right(self.t, begin), bisect_right(self.t, until)
            if end > start:
                yield start, end

    def _make_room(self) -> int:
        """How many readings can be added together now."""
        if self._filled == self._stride and len(self.t) == MOST:
            self._merge_pairs()
        if self._stride == 1:
            return MOST - len(self.t)
        if self._filled == self._stride:
            self._add_each([self.t[-1]], [[nan]] * len(FIELDS), [0])
            self._filled = 0
        return self._stride - self._filled

    def _add_each(self, times: Sequence[float], columns: Sequence[Sequence[float]], throttled: Sequence[float]) -> None:
        """A place for each reading."""
        self._filled = 1
        self.t.extend(times)
        self._throttled.extend(map(bool, throttled))
        for field, column in zip(FIELDS, columns, strict=True):
            self._low[field].extend(column)
            self._high[field].extend(column)

    def _add_to_last(
        self, times: Sequence[float], columns: Sequence[Sequence[float]], throttled: Sequence[float]
    ) -> None:
        """All of them to the last place."""
        self._filled += len(times)
        self.t[-1] = times[-1]
        self._throttled[-1] |= any(throttled)
        for field, column in zip(FIELDS, columns, strict=True):
            low, high = extent_of(column)
            if low <= high:
                self._low[field][-1] = _lower(self._low[field][-1], low)
                self._high[field][-1] = _higher(self._high[field][-1], high)

    def _merge_pairs(self) -> None:
        self._stride *= 2
        del self.t[::2]
        self._throttled = bytearray(map(max, self._throttled[::2], self._throttled[1::2]))
        for field in FIELDS:
            self._low[field] = array("f", [_lower(one, two) for one, two in _pairs(self._low[field])])
            self._high[field] = array("f", [_higher(one, two) for one, two in _pairs(self._high[field])])


class GpuHistories:
    """The cards of a run by their index, and the newest reading of each, whole."""

    def __init__(self) -> None:
        self.cards: dict[int, GpuHistory] = {}
        self.newest: dict[int, Gpu] = {}
        self.known_until = -inf
        """Readings up to this time (unix seconds) are told once more, and left out."""

    def append(self, gpu: Gpu, t: float) -> None:
        """Add a reading."""
        card = self._card(gpu.index)
        if card is not None and not t <= self.known_until:
            values = [getattr(gpu, field) for field in FIELDS]
            card.extend([t], [[nan if value is None else value] for value in values], [bool(gpu.throttle)])
            self.newest[gpu.index] = gpu

    def extend(self, block: GpuColumns) -> None:
        """Add many readings."""
        for index, gpu in block.newest.items():
            card = self._card(index)
            if card is None:
                continue
            told = zip(block.index, block.t, strict=True)
            places = [place for place, (one, t) in enumerate(told) if one == index and not t <= self.known_until]
            columns = [_at(block.values[field], places) for field in FIELDS]
            card.extend(_at(block.t, places), columns, _at(block.throttled, places))
            self.newest[index] = gpu

    def _card(self, index: int) -> GpuHistory | None:
        """The card's history; None where there are too many already."""
        if index not in self.cards and len(self.cards) < MOST_CARDS:
            self.cards[index] = GpuHistory()
        return self.cards.get(index)


def _at(numbers: Sequence[float], places: Sequence[int]) -> Sequence[float]:
    return numbers if len(places) == len(numbers) else [numbers[place] for place in places]


def _pairs(numbers: Sequence[float]) -> Iterable[tuple[float, float]]:
    return zip(numbers[::2], numbers[1::2], strict=True)


def _lower(one: float, two: float) -> float:
    return two if not one <= two and two == two else one


def _higher(one: float, two: float) -> float:
    return two if not one >= two and two == two else one
