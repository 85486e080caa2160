"""What is usual for a metric: a robust level and spread over the recent values that were not outliers."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from engine.health.sorted_window import SortedWindow, median_distance

WINDOW = 128
"""Recent usual values that make the baseline."""
RECENT = 32
"""The last ones of them, which follow a falling curve."""
FIRST_LEVEL = 4
"""Values that make a first level; later ones are measured against it."""
MINIMUM = 16
"""Deviations from the level needed before anything is judged."""
YOUTH = 10.0
"""With n deviations the spread is widened by the factor 1 + YOUTH / n."""
MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution, in units of its median absolute deviation."""
UPPER_QUANTILE = 0.95
UPPER_QUANTILE_SIGMAS = 1.645
"""How many standard deviations above the median a normal distribution has its upper quantile."""
SHIFT_AFTER = 10
"""So many outliers in a row, all on one level, are a new level."""
SHIFT_LARGEST = 3.0
"""No value of a new level exceeds its lower fifth by more than this factor ..."""
SHIFT_LOWER_QUANTILE = 0.2
SHIFT_GROWTH = 1.5
"""... and its later half exceeds its earlier half by no more than this one."""


@dataclass(frozen=True, slots=True)
class Usual:
    """The median of a baseline, its standard deviation upwards, and how far a value lies above in units of it."""

    level: float
    spread: float

    def z(self, value: float) -> float:
        return (value - self.level) / self.spread


class Baseline:
    """A window over usual values and over how far each lay from the level of its time.

    The level is the lower one of the medians of the whole window and of its recent part, so that it follows a falling
    curve quickly and a rise slowly. Deviations are kept as shares of the level, which makes those of a steep
    start comparable with later ones. The spread is the larger of their median absolute deviation and their 95th
    percentile, both scaled to a standard deviation: losses and above all gradient norms are skewed upwards, and a
    symmetric measure would cry wolf. It never falls below `relative_floor` of the level nor below `absolute_floor`,
    so that even or tiny values do not make every wobble an outlier.
    """

    def __init__(self, relative_floor: float, absolute_floor: float) -> None:
        self._relative_floor = relative_floor
        self._absolute_floor = absolute_floor
        self._level = math.nan
        """The lower one of the two medians; none before the first value."""
        self._set_values(())
        self._deviations: deque[float] = deque(maxlen=WINDOW)
        self._outliers: deque[float] = deque(maxlen=SHIFT_AFTER)

    @property
    def level(self) -> float | None:
        """The usual level now, None before there are enough values."""
        return None if len(self._deviations) < MINIMUM else self._level

    def usual(self) -> Usual | None:
        """Return what is usual now, None before there are enough values."""
        if len(self._deviations) < MINIMUM:
            return None
        share = max(_spread(sorted(self._deviations)), self._relative_floor)
        return Usual(self._level, self._as_spread(share))

    def is_near(self, value: float, deviations: float) -> bool:
        """Whether the value lies within so many deviations above the level even by the smallest spread there can be.

        The spread takes sorting, this does not. True before there are enough values.
        """
        if len(self._deviations) < MINIMUM:
            return True
        return (value - self._level) / self._as_spread(self._relative_floor) <= deviations

    def feed(self, value: float) -> None:
        """Take in a usual value; it ends a row of outliers."""
        if len(self._recent) >= FIRST_LEVEL:
            level = self._level
            self._deviations.append((value - level) / max(abs(level), self._absolute_floor))
        self._values.append(value)
        self._recent.append(value)
        self._level = min(self._values.median(), self._recent.median())
        self._outliers.clear()

    def note_outlier(self, value: float) -> bool:
        """Remember an outlier outside the baseline; return whether the recent ones form a new, steady level."""
        self._outliers.append(value)
        return len(self._outliers) == SHIFT_AFTER and _is_steady(self._outliers)

    def forget_outliers(self) -> None:
        """End a row of outliers without taking in a value."""
        self._outliers.clear()

    def accept_shift(self) -> None:
        """Let the recent outliers make the level; deviations, as shares of it, stay what they were."""
        self._set_values(self._outliers)
        self._outliers.clear()

    def state_dict(self) -> dict[str, Any]:
        return {
            "values": list(self._values),
            "deviations": list(self._deviations),
            "outliers": list(self._outliers),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._set_values(state["values"])
        self._deviations = deque(state["deviations"], maxlen=WINDOW)
        self._outliers = deque(state["outliers"], maxlen=SHIFT_AFTER)

    def _as_spread(self, share: float) -> float:
        """A share of the level as a standard deviation, which is wider while there are few values."""
        return max(share * abs(self._level), self._absolute_floor) * (1.0 + YOUTH / len(self._deviations))

    def _set_values(self, values: Collection[float]) -> None:
        self._values = SortedWindow(WINDOW, values)
        self._recent = SortedWindow(RECENT, self._values)
        self._level = min(self._values.median(), self._recent.median()) if values else math.nan


def _spread(ordered: Sequence[float]) -> float:
    """Return the standard deviation upwards that the middle or the upper end of ascending deviations suggests."""
    mad = median_distance(ordered, quantile(ordered, 0.5))
    return max(mad * MAD_TO_SIGMA, quantile(ordered, UPPER_QUANTILE) / UPPER_QUANTILE_SIGMAS)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the linearly interpolated quantile of ascending values."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def _is_steady(values: Sequence[float]) -> bool:
    """Whether values stay on one level, as opposed to climbing or jumping about."""
    in_order = list(values)
    half = len(in_order) // 2
    earlier, later = statistics.median(in_order[:half]), statistics.median(in_order[half:])
    lower = quantile(sorted(in_order), SHIFT_LOWER_QUANTILE)
    return max(in_order) <= SHIFT_LARGEST * lower and later <= SHIFT_GROWTH * earlier
