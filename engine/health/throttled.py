"""A GPU whose clocks are held down for long, by heat or by its power supply."""

from __future__ import annotations

from collections import deque

from engine.events.types import Gpu
from engine.health.finding import Finding
from engine.health.machine import SLOWING
from engine.health.symptom import Symptom

SECONDS = 60
"""Readings, one a second, that are looked at together."""
MANY, FEW = 0.5, 0.1

SYMPTOMS = {
    "THROTTLED": Symptom(
        "warning",
        "GPU {index} is held down ({reasons}) for {share} of the last minute{temperature}: steps take longer",
        (),
        ending="its clocks are free again",
        beyond="see to the machine's air and power; `nvidia-smi` shows temperature, power and clocks",
    ),
}


class ThrottledDetector:
    """Watches the reasons that one card gives; a power cap is no fault, a card that says nothing is none either."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=SECONDS)
        self._is_throttled = False

    def check(self, card: Gpu) -> Finding | None:
        """Take in a reading; return what is wrong while it is."""
        reasons = sorted(SLOWING.intersection(card.throttle))
        self._recent.append(bool(reasons))
        share = sum(self._recent) / SECONDS
        self._is_throttled = share >= (FEW if self._is_throttled else MANY)
        if not self._is_throttled:
            return None
        words = {
            "index": str(card.index),
            "reasons": ", ".join(reasons) or "not at this moment",
            "share": f"{share:.0%}",
            "temperature": "" if card.temperature is None else f", at {card.temperature:.0f} °C",
        }
        return Finding(share, words=words)
