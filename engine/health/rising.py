"""A loss that rises: the run diverges, slowly enough that no step is a spike."""

from __future__ import annotations

import math
from typing import Any

from engine.health.finding import Finding
from engine.health.remedies import CLIMBING, CLIP
from engine.health.symptom import Symptom
from engine.health.thirds import Thirds, Window

WINDOW = 150
MINIMUM = 60
"""Losses: a rate that is far too high shows soon."""
EVERY = 10
RISE = 0.1
"""Of the level, from the first third of the window to the last, and above the lowest level of the run."""
SMALLEST_RISE = 0.02
"""In nats: near zero a tenth is a wobble."""
OVER_BELOW = 0.02
"""Of the level: a loss that rises by less than this over the window rises no longer."""

SYMPTOMS = {
    "LOSS_RISES": Symptom(
        "warning",
        "the loss rises: from {baseline} to {value} within {steps} steps, and lower before; unless the data gets "
        "harder here, the run diverges",
        (*CLIMBING, CLIP),
        ending="it rises no longer",
    ),
}


class RisingDetector:
    """Watches the losses of the steps that were not skipped."""

    def __init__(self) -> None:
        self._window = Window(WINDOW, EVERY, MINIMUM)
        self._lowest: float | None = None
        self._found: tuple[float, float, int] | None = None

    def check(self, step: int, loss: float) -> Finding | None:
        """Take in the loss of a step; return what is wrong while it is."""
        thirds = self._window.take(loss) if math.isfinite(loss) else None
        if thirds is not None:
            self._judge(thirds)
        if self._found is None:
            return None
        first, last, steps = self._found
        return Finding(last, first, "loss", words={"steps": str(steps)})

    def state_dict(self) -> dict[str, Any]:
        return {"window": self._window.state_dict(), "lowest": self._lowest, "found": self._found}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._window.load_state_dict(state["window"])
        self._lowest = state["lowest"]
        self._found = None if state["found"] is None else tuple(state["found"])

    def _judge(self, thirds: Thirds) -> None:
        lowest = thirds.first if self._lowest is None else self._lowest
        least = max(RISE * abs(thirds.first), SMALLEST_RISE)
        if thirds.rises and thirds.rise >= least and thirds.last >= lowest + least:
            self._found = self._found or (thirds.first, thirds.last, thirds.values)
        elif thirds.rise < OVER_BELOW * abs(thirds.first):
            self._found = None
        self._lowest = min(lowest, thirds.first, thirds.middle, thirds.last)
