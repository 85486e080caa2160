"""The ticks of a chart's axes, and the labels around a curve that moves.

plotext draws the same labels for pictures that stand still; it takes 4 ms for each chart, these 0.1 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, log10

from pgs_tui.drawing.axes import GUTTER, Limits, nice_step
from pgs_tui.format import whole

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e5, "k"))
_CELLS_A_TICK = 14
"""About one label on the x axis in so many cells."""
_CLOCK_STEPS = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800)
"""Seconds."""
_DOTS_A_ROW = 4


@dataclass(frozen=True, slots=True)
class XAxis:
    """The part of the x axis that is seen. Without `labels` its positions are whole numbers, the last one `end` - 1."""

    start: float
    end: float
    labels: Callable[[float], str] | None = None

    def ticks(self, width: int) -> list[tuple[float, str]]:
        """Positions and their words, in order, the first and the last among them."""
        if self.labels is None:
            start, end = round(self.start), max(round(self.end) - 1, 1)
            return [(tick, whole(tick)) for tick in step_ticks(start, end, width)]
        step = self._step_between((self.end - self.start) / max(width // _CELLS_A_TICK, 1), self.labels)
        first, last = ceil(self.start / step + 0.5), floor(self.end / step - 0.5)
        inner = [count * step for count in range(first, last + 1)]
        return [(tick, self.labels(tick)) for tick in (self.start, *inner, self.end)]

    def _step_between(self, least: float, labels: Callable[[float], str]) -> float:
        """1, 2 or 5 x 10^n; a round number of minutes or hours where that is said in fewer letters, as for time."""
        decimal = nice_step(least)
        on_the_clock = next((step for step in _CLOCK_STEPS if step >= least > _CLOCK_STEPS[0] / 2), decimal)
        return min((decimal, on_the_clock), key=lambda step: max(len(labels(step * count)) for count in (1, 2, 3)))


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the canvas: a label of GUTTER cells for each of its rows, and the row below it."""

    gutter: tuple[str, ...]
    bottom: str


def frame_of(width: int, height: int, axis: XAxis, limits: Limits) -> Frame:
    """The labels of a chart of `width` x `height` cells, whose canvas is what `canvas_size` says."""
    return Frame(_gutter(height - 1, limits), _bottom(width, axis))


def _gutter(rows: int, limits: Limits) -> tuple[str, ...]:
    labels = [" " * GUTTER] * rows
    for place, label in zip(*value_ticks(limits, rows), strict=True):
        row = int((1 - min(max(place, 0.0), 1.0)) * (rows * _DOTS_A_ROW - 1) + 0.5) // _DOTS_A_ROW  # that of the curve
        labels[row] = label.rjust(GUTTER - 1) + " "
    return tuple(label[:GUTTER] for label in labels)


@lru_cache(maxsize=64)
def _bottom(width: int, axis: XAxis) -> str:
    """The ends before all others, and what lies between them where it fits. Most charts of a screen have the same."""
    inner_width = width - GUTTER
    first, *inner, last = axis.ticks(inner_width)
    row = " " * width
    taken: list[tuple[int, int]] = []
    for position, label in (first, last, *inner):
        share = (position - axis.start) / ((axis.end - axis.start) or 1)
        cell = GUTTER + int(min(max(share, 0.0), 1.0) * inner_width)
        left = min(max(cell - (len(label) - 1) // 2, GUTTER - 1), width - len(label))
        right = left + len(label)
        if left >= 0 and all(right + 1 < begin or end + 1 < left for begin, end in taken):
            row = row[:left] + label + row[right:]
            taken.append((left, right))
    return row


def step_ticks(start: int, end: int, width: int) -> list[int]:
    """Round step numbers, about one every 14 cells, first and last among them."""
    room = max(width // _CELLS_A_TICK, 1)
    step = max(int(nice_step((end - start) / room)), 1)
    inner = range((start // step + 1) * step, end, step)
    return [start, *(tick for tick in inner if min(tick - start, end - tick) * 2 >= step), end]


def value_ticks(limits: Limits, rows: int) -> tuple[list[float], list[str]]:
    """Places from 0 at the bottom to 1 at the top, and their labels, for a canvas of so many rows."""
    values = _log_ticks(limits, rows) if limits.log else _linear_ticks(limits, rows)
    return [limits.place(tick) for tick in values], axis_labels(values)


def _linear_ticks(limits: Limits, rows: int) -> list[float]:
    """At least two rows apart, or the distances would look uneven; the limits where that leaves less than two."""
    step = nice_step((limits.high - limits.low) / max(min((rows - 1) // 2, 4), 1))
    first, last = ceil(limits.low / step - 1e-9), floor(limits.high / step + 1e-9)
    ticks = [count * step for count in range(first, last + 1)]
    return ticks if len(ticks) > 1 else [limits.low, limits.high]


def _log_ticks(limits: Limits, rows: int) -> list[float]:
    """Powers of ten, and between them where there is room; the limits where that leaves less than two."""
    low, high = floor(log10(limits.low) + 1e-9), ceil(log10(limits.high) - 1e-9)
    powers = [10.0**power for power in range(low, high + 1)]
    fine = [factor * power for power in powers for factor in (1, 2, 5)]
    ticks = [tick for tick in (fine if len(fine) <= rows else powers) if limits.low <= tick * (1 + 1e-9)]
    ticks = [tick for tick in ticks if tick <= limits.high * (1 + 1e-9)]
    ticks = ticks[:: max(ceil(len(ticks) / max(rows, 1)), 1)]
    return ticks if len(ticks) > 1 else [limits.low, limits.high]


def axis_labels(values: list[float]) -> list[str]:
    """All values in one notation, with the decimals that tell them apart, narrower than the gutter."""
    largest = max((abs(one) for one in values), default=0.0)
    gaps = [abs(later - earlier) for earlier, later in pairwise(values)]
    gap = min((one for one in gaps if one > 0), default=largest or 1.0)
    if largest >= 1e15 or 0 < gap < 5e-4:
        return [_scientific(one) for one in values]
    unit, sign = next(((unit, sign) for unit, sign in _UNITS if largest >= unit), (1.0, ""))
    decimals = _decimals([one / unit for one in values], gap / unit)
    if decimals == 0:
        return [whole(one / unit) + sign for one in values]
    return [f"{one / unit:.{decimals}f}{sign}" for one in values]


def _decimals(values: list[float], gap: float) -> int:
    """So many that values `gap` apart differ, and that all are written exactly where there is room for that."""
    least = max(-floor(log10(gap) + 1e-9), 0)
    for decimals in range(least, least + 3):
        if any(len(f"{one:.{decimals}f}") >= GUTTER for one in values):
            break
        if all(abs(round(one, decimals) - one) <= gap / 1000 for one in values):
            return decimals
    return least


def _scientific(value: float) -> str:
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}" if value else "0"
