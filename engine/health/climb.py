"""A gradient norm that explodes within a few steps, which is seen without any baseline."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from engine.health.remedies import CLIMBING
from engine.health.symptom import Symptom

SYMPTOMS = {
    "GRAD_NORM_CLIMB": Symptom(
        "error",
        "the gradient norm climbs from {baseline} to {value} within a few steps: the run is about to diverge",
        CLIMBING,
        ending="it came down again or settled",
    ),
}

RISES = 3
"""Rises in a row that make a climb."""
SMALLEST_RISE = 1.5
"""Factor of each rise."""
TOTAL_RISE = 10.0
"""Factor over the whole climb."""
END_FACTOR = 2.0
"""The climb is over when the norm falls below this multiple of where it started ..."""
SETTLED_AFTER = 20
"""... or after so many steps without a new high."""


@dataclass(frozen=True, slots=True)
class Climb:
    """Where a climb started, its highest norm, and whether this step set it."""

    start: float
    highest: float
    is_new_high: bool


class ClimbDetector:
    """Watches the norm before clipping, of skipped steps too."""

    def __init__(self) -> None:
        self._norms: deque[float] = deque(maxlen=RISES + 1)
        self._start: float | None = None
        self._highest = 0.0
        self._since_high = 0

    def check(self, grad_norm: float | None) -> Climb | None:
        """Return the climb in which this step stands, if it stands in one."""
        if grad_norm is None or math.isnan(grad_norm):
            return None if self._start is None else Climb(self._start, self._highest, False)
        self._norms.append(grad_norm)
        if self._start is None:
            if not self._is_climb():
                return None
            self._start, self._highest = self._norms[0], 0.0
        is_new_high = grad_norm > self._highest
        self._highest = max(self._highest, grad_norm)
        self._since_high = 0 if is_new_high else self._since_high + 1
        if grad_norm < END_FACTOR * self._start or self._since_high >= SETTLED_AFTER:
            self._start = None
            return None
        return Climb(self._start, self._highest, is_new_high)

    def state_dict(self) -> dict[str, Any]:
        """Return the state for JSON; norms may be infinite, so they are written as text."""
        return {
            "norms": [str(norm) for norm in self._norms],
            "start": self._start,
            "highest": str(self._highest),
            "since_high": self._since_high,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._norms = deque((float(norm) for norm in state["norms"]), maxlen=RISES + 1)
        self._start = state["start"]
        self._highest = float(state["highest"])
        self._since_high = state["since_high"]

    def _is_climb(self) -> bool:
        norms = self._norms
        if len(norms) <= RISES or not 0 < norms[0] < math.inf or norms[-1] < TOTAL_RISE * norms[0]:
            return False
        return all(later >= SMALLEST_RISE * earlier for earlier, later in pairwise(norms))
