"""What the whole gradient and the movement of the weights tell of a step, when they are known. Nothing is skipped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.events.types import Alert
from engine.health.alerts import IncidentLog, show
from engine.health.climb import ClimbDetector
from engine.health.flat import FlatDetector
from engine.health.stale import StaleDetector

LEFT_AS_THEY_WERE = "weights whose own gradient was not finite stayed as they were, all others moved"


def touch_non_finite(
    incidents: IncidentLog,
    step: int,
    grad_norm: float,
    parameter: str | None,
    rows: tuple[int, ...],
    outcome: str = LEFT_AS_THEY_WERE,
) -> Alert:
    """The alert for a gradient that is not finite, of `parameter` where that is known."""
    where = f" of {parameter}" if parameter else ""
    return incidents.touch(
        "NON_FINITE_GRAD", step, value=grad_norm, rows=rows, measured="grad_norm", where=where, outcome=outcome
    )


class AfterStep:
    """The detectors of climbing gradients, flat losses and stale weights, and their alerts."""

    def __init__(self, incidents: IncidentLog, warmup_steps: int) -> None:
        self._incidents = incidents
        self._climb = ClimbDetector()
        self._flat = FlatDetector(warmup_steps)
        self._stale = StaleDetector()

    def judge_skipped(self, step: int, grad_norm: float | None) -> tuple[Alert, ...]:
        """A step that did not move the weights; its norm is None where the gate skipped it."""
        is_finite = grad_norm is not None and math.isfinite(grad_norm)
        over = self._incidents.clear_all("NON_FINITE_GRAD") if is_finite else []
        return (*over, *self._judge_climb(step, grad_norm))

    def judge_taken(
        self,
        step: int,
        loss: float,
        grad_norm: float | None,
        moved: float | None,
        learning_rate: float,
        rows: tuple[int, ...],
        parameter: str | None,
    ) -> tuple[Alert, ...]:
        """A step that moved them; `parameter` is the first whose gradient is not finite, where one is."""
        return (
            *self._judge_whole_gradient(step, grad_norm, parameter, rows),
            *self._judge_climb(step, grad_norm),
            *self._judge_flat(step, loss, grad_norm, learning_rate),
            *self._judge_stale(step, moved, learning_rate),
        )

    def state_dict(self) -> dict[str, Any]:
        return {
            "climb": self._climb.state_dict(),
            "flat": self._flat.state_dict(),
            "stale": self._stale.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._climb.load_state_dict(state["climb"])
        self._flat.load_state_dict(state["flat"])
        if "stale" in state:  # checkpoints of earlier versions have none
            self._stale.load_state_dict(state["stale"])

    def _judge_whole_gradient(
        self, step: int, grad_norm: float | None, parameter: str | None, rows: tuple[int, ...]
    ) -> list[Alert]:
        if grad_norm is None or math.isfinite(grad_norm):
            return self._incidents.clear_all("NON_FINITE_GRAD")
        return [touch_non_finite(self._incidents, step, grad_norm, parameter, rows)]

    def _judge_climb(self, step: int, grad_norm: float | None) -> list[Alert]:
        climb = self._climb.check(grad_norm)
        if climb is None:
            return self._incidents.clear_all("GRAD_NORM_CLIMB")
        if not climb.is_new_high:
            return []
        return [
            self._incidents.touch(
                "GRAD_NORM_CLIMB", step, value=climb.highest, baseline=climb.start, measured="grad_norm"
            )
        ]

    def _judge_flat(self, step: int, loss: float, grad_norm: float | None, learning_rate: float) -> list[Alert]:
        flat = self._flat.check(step, loss)
        if flat is None:
            return self._incidents.clear_all("FLAT")
        if self._incidents.is_open("FLAT"):
            return []
        return [
            self._incidents.touch(
                "FLAT",
                step,
                value=flat.level,
                measured="loss",
                slope=f"{flat.slope:+.1e}",
                steps=str(flat.losses),
                learning_rate=show(learning_rate),
                grad_norm=show(grad_norm),
            )
        ]

    def _judge_stale(self, step: int, moved: float | None, learning_rate: float) -> list[Alert]:
        stale = self._stale.check(moved, learning_rate)
        if stale is None:
            return self._incidents.clear_all("STALE_WEIGHTS")
        if self._incidents.is_open("STALE_WEIGHTS"):
            return []
        share = f"{stale.share:.0%}"
        return [self._incidents.touch("STALE_WEIGHTS", step, value=stale.share, measured="moved", share=share)]
