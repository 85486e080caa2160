"""No step for many usual step times: a run that lives and does not get on.

Only a reader can tell this, since an engine that hangs says nothing. Within the phase `training` steps are awaited, in
every other one (evaluating, saving, reading data) any event: the engine tells of its machine once a second.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.events.types import Severity
from engine.health.symptom import Remedy, Symptom, to_fact

SILENT_SECONDS, SILENT_STEPS = 30.0, 20
"""A run is silent after this many seconds, and this many times the usual time of a step: a slow step is none yet."""
LOST_SECONDS, LOST_STEPS = 600.0, 60
"""Somebody has to look after this many seconds, and this many times the usual time of a step."""
QUIET_SECONDS = 60.0
"""How long there may be no event at all outside the steps."""

LAST_CHECKPOINT = Remedy(
    "train.resume_from", to_fact("checkpoint"), "once it is stopped, this goes on from its last checkpoint"
)
SAVE_SOONER = Remedy(
    "train.save_steps", to_fact("save_steps"), "it has saved nothing yet, so stopping it loses everything: save sooner"
)
SYMPTOMS = {
    "SILENT": Symptom(
        "warning",
        "no {what} for {age}{usual}: {words}",
        (LAST_CHECKPOINT, SAVE_SOONER),
        ending="it goes on",
        beyond="console.log holds its last words, nvidia-smi says what the GPU does",
    ),
}


@dataclass(frozen=True, slots=True)
class Silence:
    """How long nothing has come, what was awaited, how often that usually comes, and how grave this is."""

    age: float
    what: str
    usual: float | None
    severity: Severity


def find_silence(
    phase: str | None, since_step: float | None, since_event: float, usual: float | None
) -> Silence | None:
    """Whether a run that lives is silent.

    `since_step` are the seconds since the newest step, or since training went on after something else; None before the
    first step, whose time nobody knows. `usual` is the usual time from step to step.
    """
    if phase == "training" and since_step is not None and usual is not None:
        if since_step <= max(SILENT_SECONDS, SILENT_STEPS * usual):
            return None
        is_lost = since_step > max(LOST_SECONDS, LOST_STEPS * usual)
        return Silence(since_step, "step", usual, "critical" if is_lost else "warning")
    if since_event <= QUIET_SECONDS:
        return None
    return Silence(since_event, "event", None, "critical" if since_event > LOST_SECONDS else "warning")
