"""What the GPUs of a run did over time: utilisation, temperature, power, memory in use, throttling."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import isfinite, nan
from typing import Literal, get_args

from engine.events import Gpu
from engine.events.columns import GpuColumns
from pgs_tui.runs.axis import LAST_SECOND, WallStretch
from pgs_tui.runs.pyramid import NOTHING, Extent, extent_of
from pgs_tui.runs.reducer import Columns

MOST = 32768
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

    def append(self, t: float, values: Sequence[float], throttled: bool) -> None:
        """Add a reading: values in the order of FIELDS, NaN where nothing was measured."""
        t = max(t, self.t[-1]) if self.t and t == t else t
        if not abs(t) <= LAST_SECOND:
            return
        if not self.t or self._filled == self._stride:
            if len(self.t) == MOST:
                self._merge_pairs()
            self._add(t, values, throttled)
            return
        self._filled += 1
        self.t[-1] = t
        self._throttled[-1] |= throttled
        for field, value in zip(FIELDS, values, strict=True):
            low, high = self._low[field], self._high[field]
            low[-1], high[-1] = _lower(low[-1], value), _higher(high[-1], value)

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

    def _add(self, t: float, values: Sequence[float], throttled: bool) -> None:
        self._filled = 1
        self.t.append(t)
        self._throttled.append(throttled)
        for field, value in zip(FIELDS, values, strict=True):
            usable = value if isfinite(value) else nan
            self._low[field].append(usable)
            self._high[field].append(usable)

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

    def append(self, gpu: Gpu, t: float) -> None:
        """Add a reading."""
        values = [nan if value is None else value for value in (getattr(gpu, field) for field in FIELDS)]
        if self._is_room_for(gpu.index):
            self.newest[gpu.index] = gpu
            self.cards.setdefault(gpu.index, GpuHistory()).append(t, values, bool(gpu.throttle))

    def extend(self, block: GpuColumns) -> None:
        """Add many readings."""
        rows = zip(*(block.values[field] for field in FIELDS), strict=True)
        for t, index, values, throttled in zip(block.t, block.index, rows, block.throttled, strict=True):
            if self._is_room_for(index):
                self.cards.setdefault(index, GpuHistory()).append(t, values, bool(throttled))
        self.newest.update({index: gpu for index, gpu in block.newest.items() if self._is_room_for(index)})

    def _is_room_for(self, index: int) -> bool:
        return index in self.cards or len(self.cards) < MOST_CARDS


def gpu_columns(
    card: GpuHistory, field: GpuField, start: float, end: float, stretches: Sequence[Sequence[WallStretch]]
) -> Columns:
    """The readings as columns over [start, end) of an x axis; `stretches` says when each column was.

    `marks` are the columns in which the card was throttled.
    """
    extents = [card.extent(field, one) for one in stretches]
    throttled = frozenset(place for place, one in enumerate(stretches) if card.was_throttled(one))
    return Columns(start, end, tuple(low for low, _ in extents), tuple(high for _, high in extents), throttled)


def _pairs(numbers: Sequence[float]) -> Iterable[tuple[float, float]]:
    return zip(numbers[::2], numbers[1::2], strict=True)


def _lower(one: float, two: float) -> float:
    return two if not one <= two and two == two else one


def _higher(one: float, two: float) -> float:
    return two if not one >= two and two == two else one
