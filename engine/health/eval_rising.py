"""An evaluation that gets worse while the training loss falls: the data is learned by heart."""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from engine.health.finding import Finding
from engine.health.partners import RATE
from engine.health.symptom import Remedy, Symptom, times, to_fact

RECENT = 50
"""Training losses that an evaluation is held against, at most: those since the evaluation before."""
FALL = 0.01
"""Share by which the training loss is below what it was at the best evaluation."""
RISES = 2
"""Evaluations in a row, each worse than the one before ..."""
RISE = 0.02
"""... and the last by this share above the best."""
BEST_STEP = "best_step"

SYMPTOMS = {
    "EVAL_RISES": Symptom(
        "warning",
        "the evaluation{name} rises while the training loss falls: from {baseline} at step {best_step}, its best, to "
        "{value}; since that step the data is learned by heart",
        (
            Remedy("train.max_steps", to_fact(BEST_STEP), "ends where the evaluation was best"),
            Remedy(RATE, times(0.5), "a smaller rate learns less by heart"),
            Remedy("train.weight_decay", times(2.0), "pulls weights back that only serve single rows"),
        ),
        ending="the evaluation is down again",
    ),
}


@dataclass(slots=True)
class _Course:
    """The evaluations of one name: the best, the last, and how many in a row were worse than the one before."""

    best: float
    best_step: int
    training_at_best: float | None
    last: float
    rises: int = 0


class EvalRisingDetector:
    """Watches the training losses, and each name of evaluations by itself."""

    def __init__(self) -> None:
        self._training: deque[float] = deque(maxlen=RECENT)
        self._step: int | None = None
        self._level: float | None = None
        self._courses: dict[str, _Course] = {}
        self._rising: dict[str, Finding] = {}

    def take_loss(self, loss: float) -> None:
        """Take in the loss of a step."""
        if math.isfinite(loss):
            self._training.append(loss)

    def check(self, step: int, loss: float, name: str = "eval") -> Finding | None:
        """Take in an evaluation; return what is wrong while some evaluation rises."""
        if math.isfinite(loss):
            self._judge(step, loss, name)
        return next(iter(self._rising.values()), None)

    def state_dict(self) -> dict[str, Any]:
        return {
            "training": list(self._training),
            "step": self._step,
            "level": self._level,
            "courses": {name: asdict(course) for name, course in self._courses.items()},
            "rising": list(self._rising),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._training = deque(state["training"], maxlen=RECENT)
        self._step, self._level = state["step"], state["level"]
        self._courses = {name: _Course(**course) for name, course in state["courses"].items()}
        self._rising = {name: self._finding(name) for name in state["rising"]}

    def _judge(self, step: int, loss: float, name: str) -> None:
        training = self._level_at(step)
        course = self._courses.get(name)
        if course is None or loss < course.best:
            self._courses[name] = _Course(loss, step, training, loss)
            self._rising.pop(name, None)
            return
        course.rises = course.rises + 1 if loss > course.last else 0
        course.last = loss
        falls = (
            training is not None
            and course.training_at_best is not None
            and (training <= course.training_at_best - FALL * abs(course.training_at_best))
        )
        is_worse = loss >= course.best + RISE * abs(course.best)
        if is_worse and falls and course.rises >= RISES:
            self._rising[name] = self._finding(name)
        elif not is_worse:
            self._rising.pop(name, None)

    def _level_at(self, step: int) -> float | None:
        """The training loss that the evaluations of this step, of all names, are held against."""
        if step != self._step:
            level = statistics.median(self._training) if self._training else None
            self._step, self._level = step, level
            self._training.clear()
        return self._level

    def _finding(self, name: str) -> Finding:
        course = self._courses[name]
        words = {"name": "" if name == "eval" else f" {name}", "best_step": str(course.best_step)}
        facts = {BEST_STEP: course.best_step} if course.best_step > 0 else {}
        return Finding(course.last, course.best, words=words, facts=facts)
