"""What only the log of another tool can show."""

from __future__ import annotations

from engine.health.remedies import HALF_THE_RATE_OF_SPIKES
from engine.health.spikes import NEAR
from engine.health.symptom import Symptom

SYMPTOMS = {
    "SPIKE_LOGGED": Symptom(
        "warning",
        "{metric} {value}, usually {baseline} ± {spread}: the log does not say that the step was skipped",
        (HALF_THE_RATE_OF_SPIKES,),
        grave="error",
        grave_after=5,
        lingers=NEAR,
    ),
}
