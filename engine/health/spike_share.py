"""How many of the recent steps were skipped as spikes: below 1 % is harmless, above 5 % is a matter of the data."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from engine.health.partners import RATE
from engine.health.symptom import Remedy, Symptom, times

STEPS = 200
MINIMUM = 100
MANY = 0.05
FEW = 0.01

SYMPTOMS = {
    "SPIKES_FREQUENT": Symptom(
        "warning",
        "{share} of the last {steps} steps were skipped as spikes: look at the rows behind them and filter the data",
        (Remedy(RATE, times(0.5), "if the rows look right, halve the learning rate"),),
        ending="spikes are rare again",
    ),
}


@dataclass(frozen=True, slots=True)
class SpikeShare:
    """Which share of so many steps were spikes; between many and few is a gap, so that the alert does not flicker."""

    share: float
    steps: int

    @property
    def is_many(self) -> bool:
        return self.steps >= MINIMUM and self.share > MANY

    @property
    def is_few(self) -> bool:
        return self.steps < MINIMUM or self.share < FEW


class SpikeCounter:
    """Counts the steps that were skipped as spikes among the last ones."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=STEPS)

    def check(self, is_spike: bool) -> SpikeShare:
        """Take in a step; return the share with it."""
        self._recent.append(is_spike)
        return SpikeShare(sum(self._recent) / len(self._recent), len(self._recent))

    def state(self) -> list[bool]:
        return list(self._recent)

    def load_state(self, state: list[bool]) -> None:
        self._recent = deque(state, maxlen=STEPS)
