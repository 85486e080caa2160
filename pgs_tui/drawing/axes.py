"""Axes of a chart: round limits that stay put while values move."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10

from pgs_tui.history.series import Columns, Extent

GUTTER = 7
"""Cells left of a chart for its labels and a blank, always the same, so that the curve never shifts."""
ROOM_FOR_LABELS = 24
"""Narrower charts have no labels."""
_CLIP_SHARE = 0.03
_CLIP_COLUMNS = 24
_FAR_SPREADS = 2
"""What lies so many times the extent of the usual values beyond them is far off."""
_LARGEST = 1e300
"""Limits stay within this, so that no arithmetic on them overflows."""
_WIDEST_LOG = 2.5
"""A logarithmic axis that has this many times the decades of its values, and more, is too wide for them."""


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
        return _log_limits(low, high, previous)
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
    return usual + 0.2 * spread if finite[-1] > usual + _FAR_SPREADS * spread > usual else finite[-1]


def widened(usual: Extent, average: Columns) -> Extent:
    """What a linear axis shows of the values, and of their average too where that lies beyond them.

    Like an outlier, an average that lies far off stays out, unless there are only a few values.
    """
    low, high = usual
    lowest, highest = average.extent()
    if lowest > highest:
        return usual
    is_few = sum(map(isfinite, average.high)) < _CLIP_COLUMNS
    reach = inf if is_few else _FAR_SPREADS * (high - low)
    return (lowest if low - reach <= lowest < low else low, highest if high < highest <= high + reach else high)


def widened_by_another(usual: Extent, other: Columns) -> Extent:
    """What a linear axis shows of values that have another curve below them, such as that of another run.

    It may lie farther off than an average may, or where nothing moves nobody would see by how much they differ. Its
    own far outliers stay out as those of the values do.
    """
    low, high = usual
    lowest, _ = other.extent()
    if lowest == inf:
        return usual
    highest = robust_top(list(other.high), lowest)
    reach = max(_FAR_SPREADS * (high - low), abs(high))
    return (lowest if low - reach <= lowest < low else low, highest if high < highest <= high + reach else high)


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


def canvas_size(width: int, height: int) -> tuple[int, int]:
    """Cells for the curve itself in a chart of this size."""
    if width < ROOM_FOR_LABELS or height < 4:
        return max(width, 0), max(height, 0)
    return width - GUTTER, height - 1


def _still_fits(low: float, high: float, previous: Limits) -> bool:
    span = previous.high - previous.low
    inside = previous.low <= low and high <= previous.high
    return inside and (high - low) * 3 >= span


def _log_limits(low: float, high: float, previous: Limits | None) -> Limits:
    if not isfinite(low) or low <= 0:
        low = high / 1000 if isfinite(high) and high > 0 else 0.1
    low = min(max(low, 1 / _LARGEST), _LARGEST / 100)
    high = min(max(high, low), _LARGEST)
    bottom, top = _one_two_five(low, down=True), _one_two_five(high, down=False)
    fitting = Limits(bottom, top if top > bottom else bottom * 10, log=True)
    return previous if previous is not None and _still_fits_log(low, high, fitting, previous) else fitting


def _still_fits_log(low: float, high: float, fitting: Limits, previous: Limits) -> bool:
    inside = previous.log and previous.low <= low and high <= previous.high
    return inside and log10(previous.high / previous.low) <= _WIDEST_LOG * log10(fitting.high / fitting.low)


def _one_two_five(value: float, down: bool) -> float:
    power = 10.0 ** floor(log10(value))
    factors = (10, 5, 2, 1) if down else (1, 2, 5, 10)
    if down:
        return next(factor * power for factor in factors if factor * power <= value * (1 + 1e-9))
    return next(factor * power for factor in factors if factor * power >= value * (1 - 1e-9))
