"""A gradient norm that grows over hundreds of steps, against the run's own recent values."""

from __future__ import annotations

import math
from typing import Any

from engine.health.finding import Finding
from engine.health.remedies import CLIMBING, CLIP
from engine.health.symptom import Symptom
from engine.health.thirds import Thirds, Window

WINDOW = 300
EVERY = 10
GROWTH = 2.5
"""From the first third of the window to the last."""
OVER_BELOW = 1.2
SMALLEST = 0.01
"""A smaller norm moves nothing far, however fast it grows."""

SYMPTOMS = {
    "GRAD_NORM_GROWS": Symptom(
        "warning",
        "the gradient norm grows: from {baseline} to {value} within {steps} steps; the updates get less and less right",
        (*CLIMBING, CLIP),
        ending="it grows no longer",
    ),
}


class GrowingDetector:
    """Watches the norm before clipping, on a scale of factors."""

    def __init__(self) -> None:
        self._window = Window(WINDOW, EVERY, least=WINDOW)
        self._found: tuple[float, float] | None = None

    def check(self, grad_norm: float | None) -> Finding | None:
        """Take in the norm of a step; return what is wrong while it is."""
        if grad_norm is not None and 0 < grad_norm < math.inf:
            thirds = self._window.take(math.log(grad_norm))
            if thirds is not None:
                self._judge(thirds)
        if self._found is None:
            return None
        first, last = self._found
        return Finding(last, first, "grad_norm", words={"steps": str(WINDOW)})

    def state_dict(self) -> dict[str, Any]:
        return {"window": self._window.state_dict(), "found": self._found}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._window.load_state_dict(state["window"])
        self._found = None if state["found"] is None else (state["found"][0], state["found"][1])

    def _judge(self, thirds: Thirds) -> None:
        first, last = math.exp(thirds.first), math.exp(thirds.last)
        if thirds.rises and thirds.rise >= math.log(GROWTH) and last >= SMALLEST:
            self._found = self._found or (first, last)
        elif thirds.rise < math.log(OVER_BELOW):
            self._found = None
