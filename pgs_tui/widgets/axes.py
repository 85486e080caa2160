"""Axes of a chart: round limits that stay put while values move, and the ticks, drawn by plotext."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from pgs_tui.format import whole

GUTTER = 7
"""Cells left of a chart for its labels and a blank, always the same, so that the curve never shifts."""
ROOM_FOR_LABELS = 24
"""Narrower charts have no labels."""
_CLIP_SHARE = 0.03
_CLIP_COLUMNS = 24
_LARGEST = 1e300
"""Limits stay within this, so that no arithmetic on them overflows."""
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e5, "k"))


@dataclass(frozen=True, slots=True)
class Limits:
    """The values at the bottom and the top of a chart; `log` draws powers of ten at equal distances."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where the value stands: 0 at the bottom, 1 at the top, outside of that beyond them."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -1.0
        return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))


def choose_limits(low: float, high: float, previous: Limits | None, log: bool = False) -> Limits:
    """Round limits around [low, high]; the previous ones as long as they still fit well."""
    if log:
        return _log_limits(low, high)
    low, high = max(low, -_LARGEST), min(high, _LARGEST)
    if previous is not None and not previous.log and _still_fits(low, high, previous):
        return previous
    step = nice_step((high - low) / 4 or abs(high) / 4 or 0.25)
    bottom, top = floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step
    if bottom == top or not isfinite(bottom) or not isfinite(top):
        bottom, top = (low - step, high + step) if isfinite(low - step) and isfinite(high + step) else (-1.0, 1.0)
    return Limits(bottom, top)


def robust_top(tops: list[float], low: float) -> float:
    """The highest value worth a linear axis: a few far outliers stay out, since they would flatten all the rest."""
    finite = sorted(top for top in tops if isfinite(top))
    if len(finite) < _CLIP_COLUMNS:
        return finite[-1] if finite else low
    outside = max(int(len(finite) * _CLIP_SHARE), 1)
    usual = finite[-1 - outside]
    spread = usual - low
    return usual + 0.2 * spread if finite[-1] > usual + 2 * spread > usual else finite[-1]


def nice_step(size: float) -> float:
    """The smallest of 1, 2, 5 x 10^n that is not below `size`."""
    if not isfinite(size) or size <= 0:
        return 1.0
    size = max(size, 1 / _LARGEST)
    power = 10.0 ** floor(log10(size))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= size * (1 - 1e-9))


def nice_end(last: int, total: int | None) -> int:
    """The last step that a chart has room for: grows in jumps of about a quarter, and ends with the run."""
    end = 20
    while end < last:
        power = 10 ** floor(log10(end))
        end = next(int(factor * power) for factor in (1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if factor * power > end)
    return max(total, last) if total and end * 1.25 >= total else end


@lru_cache(maxsize=64)
def scaffold(width: int, height: int, start: int, end: int, limits: Limits) -> tuple[str, ...]:
    """Labels around an empty canvas: `height` rows of `width` cells, drawn by plotext.

    The canvas is what `canvas_size` says, to the right of the gutter and above the row of step numbers.
    """
    from plotext import figure, terminal

    terminal.limit(False, False)
    figure.clear()
    figure.theme("colorless")
    figure.canvas("default")
    for axis in (0, 1):
        figure.axes(False, axis=axis)
    figure.plot_size(width, height)
    positions, labels = _value_ticks(limits, height - 1)
    figure.ruler(1, 0).lim(0, 1)
    figure.ruler(1, 0).ticks(positions, [label.rjust(GUTTER - 1) + " " for label in labels])
    steps = step_ticks(start, end, width - GUTTER)
    figure.ruler(0, 0).lim(start, end)
    figure.ruler(0, 0).ticks(steps, [whole(step) for step in steps])
    drawn = figure.build().string(colorless=True).split("\n")
    return tuple(row.ljust(width)[:width] for row in drawn[:height])


def canvas_size(width: int, height: int) -> tuple[int, int]:
    """Cells for the curve itself in a chart of this size."""
    if width < ROOM_FOR_LABELS or height < 4:
        return max(width, 0), max(height, 0)
    return width - GUTTER, height - 1


def step_ticks(start: int, end: int, width: int) -> list[int]:
    """Round step numbers, about one every 14 cells, first and last among them."""
    room = max(width // 14, 1)
    step = max(int(nice_step((end - start) / room)), 1)
    inner = range((start // step + 1) * step, end, step)
    return [start, *(tick for tick in inner if min(tick - start, end - tick) * 2 >= step), end]


def _value_ticks(limits: Limits, rows: int) -> tuple[list[float], list[str]]:
    values = _log_ticks(limits, rows) if limits.log else _linear_ticks(limits, rows)
    return [limits.place(tick) for tick in values], axis_labels(values)


def _linear_ticks(limits: Limits, rows: int) -> list[float]:
    """At least two rows apart, or the distances would look uneven; the limits where that leaves less than two."""
    step = nice_step((limits.high - limits.low) / max(min((rows - 1) // 2, 4), 1))
    first, last = ceil(limits.low / step - 1e-9), floor(limits.high / step + 1e-9)
    ticks = [count * step for count in range(first, last + 1)]
    return ticks if len(ticks) > 1 else [limits.low, limits.high]


def _log_ticks(limits: Limits, rows: int) -> list[float]:
    low, high = floor(log10(limits.low) + 1e-9), ceil(log10(limits.high) - 1e-9)
    powers = [10.0**power for power in range(low, high + 1)]
    fine = [factor * power for power in powers for factor in (1, 2, 5)]
    ticks = [tick for tick in (fine if len(fine) <= rows else powers) if limits.low <= tick * (1 + 1e-9)]
    ticks = [tick for tick in ticks if tick <= limits.high * (1 + 1e-9)]
    return ticks[:: max(ceil(len(ticks) / max(rows, 1)), 1)]


def axis_labels(values: list[float]) -> list[str]:
    """All values in one notation, with the decimals that tell them apart, narrower than the gutter."""
    largest = max((abs(one) for one in values), default=0.0)
    gaps = [abs(later - earlier) for earlier, later in pairwise(values)]
    gap = min((one for one in gaps if one > 0), default=largest or 1.0)
    if largest >= 1e15 or 0 < gap < 5e-4:
        return [_scientific(one) for one in values]
    unit, sign = next(((unit, sign) for unit, sign in _UNITS if largest >= unit), (1.0, ""))
    decimals = max(-floor(log10(gap / unit) + 1e-9), 0)
    if decimals == 0:
        return [whole(one / unit) + sign for one in values]
    return [f"{one / unit:.{decimals}f}{sign}" for one in values]


def _scientific(value: float) -> str:
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}" if value else "0"


def _still_fits(low: float, high: float, previous: Limits) -> bool:
    span = previous.high - previous.low
    inside = previous.low <= low and high <= previous.high
    return inside and (high - low) * 3 >= span


def _log_limits(low: float, high: float) -> Limits:
    if not isfinite(low) or low <= 0:
        low = high / 1000 if isfinite(high) and high > 0 else 0.1
    low = min(max(low, 1 / _LARGEST), _LARGEST / 100)
    high = min(max(high, low), _LARGEST)
    bottom, top = _one_two_five(low, down=True), _one_two_five(high, down=False)
    return Limits(bottom, top if top > bottom else bottom * 10, log=True)


def _one_two_five(value: float, down: bool) -> float:
    power = 10.0 ** floor(log10(value))
    factors = (10, 5, 2, 1) if down else (1, 2, 5, 10)
    if down:
        return next(factor * power for factor in factors if factor * power <= value * (1 + 1e-9))
    return next(factor * power for factor in factors if factor * power >= value * (1 - 1e-9))
