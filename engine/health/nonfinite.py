"""NaN and infinity: judged from the first step on, without a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from engine.health.remedies import TENTH_OF_THE_RATE
from engine.health.symptom import Symptom

SYMPTOMS = {
    "NON_FINITE_LOSS": Symptom(
        "error", "the loss is {value}, not a finite number: {outcome}", (TENTH_OF_THE_RATE,), grave_after=3
    ),
    "NON_FINITE_GRAD": Symptom(
        "error", "the gradient{where} is not finite: {outcome}", (TENTH_OF_THE_RATE,), grave_after=3
    ),
}

Judged = Literal["loss", "hidden_norm", "grad_norm"]
"""What a step is judged by before any weight moves."""


@dataclass(frozen=True, slots=True)
class NonFinite:
    """Which metric is not finite, and its value."""

    metric: Judged
    value: float

    @property
    def code(self) -> str:
        return "NON_FINITE_LOSS" if self.metric == "loss" else "NON_FINITE_GRAD"


def find_non_finite(loss: float | None, hidden_norm: float | None) -> NonFinite | None:
    """Return the first metric that is NaN or infinite: the loss, since it usually spoils the gradient too."""
    if loss is not None and not math.isfinite(loss):
        return NonFinite("loss", loss)
    if hidden_norm is not None and not math.isfinite(hidden_norm):
        return NonFinite("hidden_norm", hidden_norm)
    return None
