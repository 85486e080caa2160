"""Whether a metric rises all through a window: slowly enough for no spike, steadily enough for no jump."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.health.baseline import MAD_TO_SIGMA

MEDIAN_ERROR = 1.25
"""Standard error of a median of n values, in units of their deviation over the root of n."""
CERTAIN = 6.0
"""So many standard errors no noise makes in a long run."""
EACH_STEP_SHARE = 0.2
"""From the first third to the second, and on to the last, at least this share of the whole rise: a jump, wherever it
is, leaves one of the two without any."""


@dataclass(frozen=True, slots=True)
class Thirds:
    """The three thirds of so many values, and their medians."""

    parts: tuple[Sequence[float], Sequence[float], Sequence[float]]
    first: float
    middle: float
    last: float

    @property
    def values(self) -> int:
        return 3 * len(self.parts[0])

    @property
    def rise(self) -> float:
        return self.last - self.first

    @property
    def rises(self) -> bool:
        """Whether it rises steadily and beyond its noise, which is measured only where it does rise."""
        least = EACH_STEP_SHARE * self.rise
        steadily = self.middle - self.first >= least and self.last - self.middle >= least
        return self.rise > 0 and steadily and self.rise > CERTAIN * self._error()

    def _error(self) -> float:
        """The standard error of the difference of two medians."""
        levels = (self.first, self.middle, self.last)
        deviations = [abs(value - level) for part, level in zip(self.parts, levels, strict=True) for value in part]
        of_a_median: float = MEDIAN_ERROR * (2 / len(self.parts[0])) ** 0.5
        return statistics.median(deviations) * MAD_TO_SIGMA * of_a_median


class Window:
    """The last `size` values of a metric, from the `least`-th on looked at in thirds each `every`-th one."""

    def __init__(self, size: int, every: int, least: int) -> None:
        self._values: deque[float] = deque(maxlen=size)
        self._every, self._least = every, least
        self._since = 0

    def take(self, value: float) -> Thirds | None:
        """Take in a finite value; return the thirds when they are due."""
        self._values.append(value)
        self._since += 1
        if self._since < self._every or len(self._values) < self._least:
            return None
        self._since = 0
        third = len(self._values) // 3
        values = list(self._values)[-3 * third :]
        parts = values[:third], values[third : 2 * third], values[2 * third :]
        return Thirds(parts, *(statistics.median(part) for part in parts))

    def state_dict(self) -> dict[str, Any]:
        return {"values": list(self._values), "since": self._since}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._values = deque(state["values"], maxlen=self._values.maxlen)
        self._since = state["since"]
