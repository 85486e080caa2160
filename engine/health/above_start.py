"""A loss far above the one that the run began with: training has made the model worse than it was."""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import Any

from engine.health.finding import Finding
from engine.health.remedies import CLIP, TENTH_OF_THE_RATE
from engine.health.symptom import Symptom

START_LOSSES = 3
"""Of these the highest counts, since one easy batch says little."""
RECENT = 20
"""Losses that are all far above it: no batch of hard rows lasts that long."""
FACTOR = 1.5
SMALLEST_RISE = 0.2
"""In nats: near zero a multiple is little."""

SYMPTOMS = {
    "LOSS_ABOVE_START": Symptom(
        "error",
        "the loss is about {value}, and began with {baseline}: the model is worse than before; unless the data is "
        "harder here, the run has diverged",
        (TENTH_OF_THE_RATE, CLIP),
        ending="it has come down",
    ),
}


class AboveStartDetector:
    """Watches the losses of the steps that were not skipped."""

    def __init__(self) -> None:
        self._start: list[float] = []
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._found: tuple[float, float] | None = None

    def check(self, loss: float) -> Finding | None:
        """Take in the loss of a step; return what is wrong while it is."""
        if math.isfinite(loss):
            self._take(loss)
        if self._found is None:
            return None
        return Finding(*self._found, "loss")

    def state_dict(self) -> dict[str, Any]:
        return {"start": list(self._start), "recent": list(self._recent), "found": self._found}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._start = list(state["start"])
        self._recent = deque(state["recent"], maxlen=RECENT)
        self._found = None if state["found"] is None else (state["found"][0], state["found"][1])

    def _take(self, loss: float) -> None:
        if len(self._start) < START_LOSSES:
            self._start.append(loss)
            return
        self._recent.append(loss)
        if self._found is None:
            if len(self._recent) == RECENT and min(self._recent) >= _far_above(max(self._start)):
                self._found = statistics.median(self._recent), self._start[0]
        elif statistics.median(self._recent) < _far_above(self._start[0]):
            self._found = None


def _far_above(start: float) -> float:
    return max(start * FACTOR, start + SMALLEST_RISE)
