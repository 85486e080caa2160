"""A loss that is too low too soon: nothing is learned that fast, so the answer stands where the model can see it."""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import Any

from engine.events.types import Scalar
from engine.health.finding import Finding
from engine.health.partners import RATE
from engine.health.symptom import Facts, NewValue, Remedy, Settings, Symptom, Unchanged, times, to

START_LOSSES = 5
"""Losses that tell where the run began."""
RECENT = 10
LOW = 0.1
"""Nats a token: the model is nearly sure of each."""
OVER_FROM = 0.2
"""Nats a token from which it has risen again."""
FALL = 10.0
"""So many times lower than at the start, since a model may begin with text that it knows well."""
SOON_STEPS, SOON_SHARE = 100, 0.05
"""The first steps, or this share of all, whichever is longer."""
HELD_OUT = 0.05


def _evaluates_on_nothing(settings: Settings) -> bool:
    return settings.get("data.eval_dataset", "") is None and settings.get("data.eval_split", "") is None


def _not_packed(key: str, settings: Settings, facts: Facts) -> NewValue:
    value: Scalar = settings.get(key)
    return False if value is True else Unchanged.LEFT_OUT


SYMPTOMS = {
    "LOSS_TOO_LOW": Symptom(
        "warning",
        "the loss fell from {baseline} to {value} within {steps} steps, too low too soon: answers may stand in what "
        "the model sees before them (a leak, rows that repeat, packs that are not kept apart)",
        (
            Remedy("data.packing", _not_packed, "tells whether the packs are the cause: alone nothing leaks over"),
            Remedy(
                "data.train_on_template_text",
                _not_packed,
                "text that the template writes is the same in every row and soon known by heart",
            ),
            Remedy(
                "data.eval_split",
                to(HELD_OUT),
                "rows held out tell learning from knowing by heart",
                applies=_evaluates_on_nothing,
            ),
            Remedy(RATE, times(0.3), "if the data is right, it is learned by heart: divide the learning rate by 3"),
        ),
        ending="it has risen again",
        beyond="`pgs inspect --config CONFIG` shows rows as the model sees them, and what of them has loss",
    ),
}


class TooLowDetector:
    """Watches the losses of the first steps; what was too low then stays so until the loss has risen."""

    def __init__(self, total_steps: int | None = None) -> None:
        self._last_soon = max(SOON_STEPS, SOON_SHARE * (total_steps or 0))
        self._start: list[float] = []
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._since: int | None = None

    def check(self, step: int, loss: float) -> Finding | None:
        """Take in the loss of a step; return what is wrong while it is."""
        if not math.isfinite(loss):
            return None
        if len(self._start) < START_LOSSES:
            self._start.append(loss)
        self._recent.append(loss)
        if len(self._recent) < RECENT or (self._since is None and step > self._last_soon):
            return None
        start, level = statistics.median(self._start), statistics.median(self._recent)
        if self._since is None and level < LOW and level * FALL <= start:
            self._since = step
        elif self._since is not None and level >= OVER_FROM:
            self._since = None
        if self._since is None:
            return None
        return Finding(level, start, "loss", words={"steps": str(self._since)})

    def state_dict(self) -> dict[str, Any]:
        return {"start": list(self._start), "recent": list(self._recent), "since": self._since}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._start = list(state["start"])
        self._recent = deque(state["recent"], maxlen=RECENT)
        self._since = state["since"]
