"""Whether a metric rises all through a window: slowly enough for no spike, steadily enough for no jump."""

from __future__ import annotations

import statistics
from collections import deque
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
    """The medians of the three thirds of so many values, and the standard error of the difference of two of them."""

    first: float
    middle: float
    last: float
    error: float
    values: int

    @property
    def rise(self) -> float:
        return self.last - self.first

    @property
    def rises(self) -> bool:
        """Whether it rises steadily and beyond its noise."""
        least = EACH_STEP_SHARE * self.rise
        steadily = self.middle - self.first >= least and self.last - self.middle >= least
        return self.rise > CERTAIN * self.error and steadily


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
        parts = [values[begin : begin + third] for begin in range(0, len(values), third)]
        first, middle, last = medians = [statistics.median(part) for part in parts]
        deviations = [abs(value - level) for part, level in zip(parts, medians, strict=True) for value in part]
        error = statistics.median(deviations) * MAD_TO_SIGMA * MEDIAN_ERROR * (2 / third) ** 0.5
        return Thirds(first, middle, last, error, len(values))

    def state_dict(self) -> dict[str, Any]:
        return {"values": list(self._values), "since": self._since}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._values = deque(state["values"], maxlen=self._values.maxlen)
        self._since = state["since"]
