"""A card's readings reduced to columns, again and again while the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from pgs_tui.history.axis import WallStretch
from pgs_tui.history.gpu_history import GpuField, GpuHistory
from pgs_tui.history.series import Columns

Times = Callable[[int], Sequence[Sequence[WallStretch]]]
"""When each column was, from that column on."""


class GpuReducer:
    """Looks, on the next call, only at the columns that may have changed: those from the newest step of the last on."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._settled = 0
        self._low: list[float] = []
        self._high: list[float] = []
        self._throttled: set[int] = set()

    def reduce(
        self,
        card: GpuHistory,
        field: GpuField,
        part: tuple[float, float, int],
        newest: float,
        key: tuple[object, ...],
        times: Times,
    ) -> Columns:
        """Start, end and number of columns are the `part`; its `marks` are the columns in which it was throttled.

        `newest` is where the newest step stands; another `key` says that what was looked at is not the same any more.
        """
        start, end, count = part
        key = (*key, id(card), card.stride, part)
        if key != self._key:
            self._key, self._settled = key, 0
            self._low, self._high, self._throttled = [inf] * count, [-inf] * count, set()
        first = self._settled
        self._throttled = {column for column in self._throttled if column < first}
        for column, stretches in enumerate(times(first), first):
            self._low[column], self._high[column] = card.extent(field, stretches)
            if card.was_throttled(stretches):
                self._throttled.add(column)
        width = (end - start) / max(count, 1)
        reached = int(min(max((newest - start) / width, 0.0), count)) if width > 0 else 0
        self._settled = max(reached - 1, 0)  # a reading may be told a little after the step it belongs to
        return Columns(start, end, tuple(self._low), tuple(self._high), frozenset(self._throttled))
