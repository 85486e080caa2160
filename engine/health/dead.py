"""An engine that vanished without a last event: killed, out of main memory, or with its machine."""

from __future__ import annotations

from engine.health.symptom import Remedy, Symptom, to_fact

LAST_CHECKPOINT = Remedy("train.resume_from", to_fact("checkpoint"), "goes on from its last checkpoint")
SAVE_SOONER = Remedy(
    "train.save_steps",
    to_fact("save_steps"),
    "it had saved nothing; with this the next one leaves something to go on from",
)
SYMPTOMS = {
    "ENGINE_DEAD": Symptom(
        "critical",
        "the engine vanished without a word {when}: kill -9, main memory used up, or a reboot",
        (LAST_CHECKPOINT, SAVE_SOONER),
        ending="another process goes on with it",
        beyond="dmesg says whether the system killed it for its memory",
    ),
}
