"""Weights that do not follow their optimizer: rounding takes away what it asks for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from engine.health.partners import RATE
from engine.health.symptom import Remedy, Symptom, times, to

SYMPTOMS = {
    "STALE_WEIGHTS": Symptom(
        "warning",
        "the weights move by {share} of what the optimizer asks for: rounding to bfloat16 takes the rest away",
        (
            Remedy("train.stochastic_rounding", to(True), "rounds at random, so that small updates count on average"),
            Remedy(RATE, times(10.0), "or a larger learning rate, whose updates reach the next number"),
        ),
        ending="they follow again",
    ),
}

WINDOW = 20
"""Steps that are judged together: one alone is noisy, since rounding at random moves few of the weights far."""
STALE_BELOW = 0.5
RECOVERED_ABOVE = 0.6


@dataclass(frozen=True, slots=True)
class Stale:
    """Which share of the movement that was asked for arrived in the weights, 0 to 1."""

    share: float


class StaleDetector:
    """Watches `moved`. Steps weigh by the square of their learning rate, as the movement asked for does in `moved`."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float]] = deque(maxlen=WINDOW)
        self._is_stale = False

    def check(self, moved: float | None, learning_rate: float) -> Stale | None:
        """Return how little arrives, while it is too little. A step without an update, or a rate of 0, says nothing."""
        if moved is not None and learning_rate > 0:
            self._recent.append((moved, learning_rate**2))
        if len(self._recent) < WINDOW:
            return None
        weight = sum(weight for _, weight in self._recent)
        share = sum(moved * weight for moved, weight in self._recent) / weight
        self._is_stale = share < (RECOVERED_ABOVE if self._is_stale else STALE_BELOW)
        return Stale(share) if self._is_stale else None

    def state_dict(self) -> dict[str, Any]:
        return {"recent": [list(pair) for pair in self._recent], "is_stale": self._is_stale}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._recent = deque(((moved, weight) for moved, weight in state["recent"]), maxlen=WINDOW)
        self._is_stale = state["is_stale"]
