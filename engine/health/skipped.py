"""Steps that could not be taken: without a token that has loss, or so many in a row that the run gives up."""

from __future__ import annotations

from engine.health.remedies import TENTH_OF_THE_RATE
from engine.health.symptom import Remedy, Symptom, times

SYMPTOMS = {
    "NO_TRAINABLE_TOKENS": Symptom(
        "warning",
        "no token of this step has loss: no weight changed",
        (Remedy("data.max_seq_length", times(2), "answers that begin behind the limit are cut off: double it"),),
        grave="error",
        grave_after=3,
    ),
    "SKIPPED_IN_A_ROW": Symptom(
        "critical",
        "{steps} steps in a row were skipped, so the run stops: {last}",
        (TENTH_OF_THE_RATE,),
    ),
}
