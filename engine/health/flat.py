"""A loss that has not moved since the start: learning nothing, as opposed to learning slowly.

Flat means all of this: the straight line through the losses since the warm-up neither falls nor rises beyond its own
uncertainty; even within that uncertainty it falls by less than a hundredth of the level per hundred steps; and the
level is where the run began. A small decline inside strong noise is therefore not called flat until there are enough
steps to tell, and a plateau after a good start never is. Once flat, a run stays so until the level has come down or
clearly rises.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from engine.health.partners import RATE
from engine.health.sorted_window import SortedWindow
from engine.health.symptom import Remedy, Symptom, times

SYMPTOMS = {
    "FLAT": Symptom(
        "warning",
        "the loss stays at {value} (slope {slope} per step over {steps} steps) "
        "at learning rate {learning_rate} and gradient norm {grad_norm}",
        (Remedy(RATE, times(2.0), "too small a learning rate learns nothing: double it, or remove the easier data"),),
        ending="it moves",
    ),
}

WINDOW = 300
"""Losses that the line goes through at most."""
MINIMUM = 100
START_LOSSES = 20
"""Losses that tell where the run began."""
CONFIDENCE = 2.0
"""Standard errors of the slope: one further from 0 falls, or rises."""
RISES = 2 * CONFIDENCE
"""With so many a loss that was flat is rising."""
NEGLIGIBLE_DECLINE = 0.01 / 100
"""Decline per step, as a share of the level."""
EVERY = 10
"""The line is drawn anew after so many losses."""
IMPROVED = 0.02
"""A level lower than the start by this share is progress."""


@dataclass(frozen=True, slots=True)
class Flat:
    """The level of a flat loss, its slope per step, and the number of losses behind this."""

    level: float
    slope: float
    losses: int


class FlatDetector:
    """Watches the losses of the steps that were not skipped; those of the warm-up only tell where the run began."""

    def __init__(self, warmup_steps: int = 0) -> None:
        self._warmup_steps = warmup_steps
        self._start: list[float] = []
        self._recent = SortedWindow(WINDOW)
        self._since_line = 0
        self._is_flat = False
        self._found: Flat | None = None

    def check(self, step: int, loss: float) -> Flat | None:
        """Take in the loss of a step; return the flat state if the run is in one."""
        if not math.isfinite(loss):
            return None
        if len(self._start) < START_LOSSES:
            self._start.append(loss)
        if step > self._warmup_steps:
            self._recent.append(loss)
            self._since_line += 1
        if len(self._recent) >= MINIMUM and self._since_line >= EVERY:
            self._since_line = 0
            self._found = self._judge()
        return self._found

    def state_dict(self) -> dict[str, Any]:
        return {
            "start": list(self._start),
            "recent": list(self._recent),
            "since_line": self._since_line,
            "is_flat": self._is_flat,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._start = list(state["start"])
        self._recent = SortedWindow(WINDOW, state["recent"])
        self._since_line = state.get("since_line", 0)  # checkpoints of earlier versions have none
        self._is_flat = state["is_flat"]
        self._found = self._judge() if self._is_flat else None

    def _judge(self) -> Flat | None:
        level = self._recent.median()
        if self._has_improved(level):  # no line is needed to tell
            self._is_flat = False
            return None
        slope, error = _line_through(list(self._recent))
        if slope > RISES * error:
            self._is_flat = False
        elif not self._is_flat and abs(slope) <= CONFIDENCE * error:
            may_fall = slope - CONFIDENCE * error < -NEGLIGIBLE_DECLINE * abs(level)
            self._is_flat = not may_fall
        return Flat(level, slope, len(self._recent)) if self._is_flat else None

    def _has_improved(self, level: float) -> bool:
        start = statistics.median(self._start)
        return level < start - IMPROVED * abs(start)


def _line_through(values: Sequence[float]) -> tuple[float, float]:
    """The slope and its error as `_slope` has them; NaN, which decides nothing, for numbers too large to be summed."""
    try:
        return _slope(values)
    except OverflowError:
        return math.nan, math.nan


def _slope(values: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the least-squares line per step, and its standard error."""
    count = len(values)
    middle, level = (count - 1) / 2, math.fsum(values) / count
    from_middle = [step - middle for step in range(count)]
    steps_spread = count * (count**2 - 1) / 12  # sum of squared distances of the steps from their mean
    slope = math.fsum(map(mul, from_middle, [value - level for value in values])) / steps_spread
    intercept = level - slope * middle
    residuals = math.fsum([(value - intercept - slope * step) ** 2 for step, value in enumerate(values)])
    return slope, math.sqrt(residuals / (count - 2) / steps_spread)
