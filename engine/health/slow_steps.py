"""Steps that take much longer than usual, and stalls, with their cause.

A step is slow when both its time and its time per slot are far out: one of few tokens has a high time per slot, one of
many a high time, and neither is slow for that. Slow steps never enter the baseline; a level that lasts is accepted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.events.types import Step
from engine.health.baseline import Baseline
from engine.health.finding import Finding
from engine.health.stall_cause import CHECKPOINT, COMPILER, DATA, DISK, EVALUATION, Surroundings, cause_of
from engine.health.symptom import CAUSE, Facts, NewValue, Remedy, Settings, Symptom, Unchanged, times, to

OUTLIER = 6.0
"""Standard deviations above the usual."""
RELATIVE_FLOOR, ABSOLUTE_FLOOR = 0.25, 1e-9
SLOW, LEAST_LOST = 2.5, 0.5
"""Times the usual, and seconds lost, from which a step counts as slow: less is the noise of a busy machine."""
STALL, STALL_LOST = 10.0, 10.0
"""Times the usual, and seconds lost, from which it counts as a stall."""
REFRESHED_EACH = 10
"""Steps between two looks at the baseline, which costs more than all else here."""
OVER_AFTER = 20
"""Usual steps after which slow ones are over."""


def _more_workers(key: str, settings: Settings, facts: Facts) -> NewValue:
    workers = settings.get(key)
    if not isinstance(workers, int):
        return None
    return 2 * workers if workers else 2


def _no_compiler(key: str, settings: Settings, facts: Facts) -> NewValue:
    return Unchanged.LEFT_OUT if settings.get(key) is False else False


def _is_not_packed(settings: Settings) -> bool:
    return settings.get("data.packing") is False


MORE_WORKERS = Remedy(
    "data.num_workers", _more_workers, "prepares the batches of so many steps ahead", causes=frozenset({DATA, DISK})
)
REMEDIES = (
    MORE_WORKERS,
    Remedy(
        "data.packing",
        to(True),
        "lines of one length are compiled once",
        causes=frozenset({COMPILER}),
        applies=_is_not_packed,
    ),
    Remedy("model.compile", _no_compiler, "nothing is compiled then", causes=frozenset({COMPILER})),
    Remedy("train.save_steps", times(2.0), "saves half as often", causes=frozenset({CHECKPOINT, DISK})),
    Remedy("data.eval_every", times(2.0), "evaluates half as often", causes=frozenset({EVALUATION})),
)
BEYOND = (
    "for a GPU that throttles see to its cooling and power; for another process on it, `nvidia-smi` names it; for a "
    "disk that is busy see what else writes to it, for cores that are busy what else computes"
)
SYMPTOMS = {
    "STEP_SLOW": Symptom(
        "info",
        "a step took {value} s, usually {baseline} s: {cause}",
        REMEDIES,
        grave="warning",
        grave_after=3,
        ending="as quick as usual again after {steps}",
        beyond=BEYOND,
    ),
    "STALL": Symptom(
        "warning",
        "the run stood still: a step took {value} s, usually {baseline} s: {cause}",
        REMEDIES,
        grave="error",
        grave_after=3,
        ending="it goes on after {steps}",
        beyond=BEYOND,
    ),
}


class SlowStepDetector:
    """Judges `dt`. Where a log has no slots the time alone is judged."""

    def __init__(self) -> None:
        self._seconds = Baseline(RELATIVE_FLOOR, ABSOLUTE_FLOOR)
        self._per_slot = Baseline(RELATIVE_FLOOR, ABSOLUTE_FLOOR)
        self._limits: tuple[float, float] | None = None
        self._levels = (0.0, 0.0)
        self._since_look = 0
        self._usual_in_a_row = 0
        self._going_on: str | None = None

    def check(self, step: Step, around: Surroundings) -> dict[str, Finding]:
        """Take in a step; return what is wrong by code: STEP_SLOW or STALL, for as long as it lasts.

        One that comes after something else (`around.after`) is told only where it stands still, and is no part of what
        is usual: caches and clocks come back with it.
        """
        self._look()
        found = self._judge(step, around)
        if found is not None:
            code, finding = found
            self._usual_in_a_row = 0
            self._going_on = code
            return {code: finding}
        self._usual_in_a_row += 1
        if self._usual_in_a_row >= OVER_AFTER or self._going_on == "STALL":
            self._going_on = None
        return {} if self._going_on is None else {self._going_on: Finding()}

    def state_dict(self) -> dict[str, Any]:
        return {
            "seconds": self._seconds.state_dict(),
            "per_slot": self._per_slot.state_dict(),
            "usual_in_a_row": self._usual_in_a_row,
            "going_on": self._going_on,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seconds.load_state_dict(state["seconds"])
        self._per_slot.load_state_dict(state["per_slot"])
        self._usual_in_a_row, self._going_on = state["usual_in_a_row"], state["going_on"]

    def _look(self) -> None:
        """Look at the baselines anew, now and then."""
        self._since_look -= 1
        if self._since_look > 0:
            return
        seconds, per_slot = self._seconds.usual(), self._per_slot.usual()
        self._since_look = REFRESHED_EACH if seconds is not None else 1
        if seconds is None:
            self._limits = None
            return
        levels = seconds.level, per_slot.level if per_slot else 0.0
        spreads = seconds.spread, per_slot.spread if per_slot else 0.0
        least = [max(SLOW * level, level + OUTLIER * spread) for level, spread in zip(levels, spreads, strict=True)]
        self._levels, self._limits = levels, (least[0], least[1])

    def _judge(self, step: Step, around: Surroundings) -> tuple[str, Finding] | None:
        """What is wrong with this step, if something is; a usual one enters the baseline."""
        per_slot = step.dt / step.slots if step.slots else 0.0
        if self._limits is None or step.dt <= self._limits[0] or (step.slots and per_slot <= self._limits[1]):
            if around.after is None:
                self._feed(step.dt, per_slot)
            return None
        usual = max(self._levels[0], self._levels[1] * step.slots)
        lost = step.dt - usual
        stands_still = step.dt >= STALL * usual and lost >= STALL_LOST
        if around.after is None:
            self._note_outlier(step.dt, per_slot)
        elif not stands_still:
            return None
        if lost < LEAST_LOST:
            return None
        if stands_still:  # so much longer no other program makes a step that gets its turn on the cores
            around = replace(around, cpu_pressure=0.0)
        cause = cause_of(step, lost, around)
        finding = Finding(
            step.dt,
            usual,
            "dt",
            words={"cause": cause.sentence},
            facts={CAUSE: cause.name},
            rows=step.rows,
            is_one_more=True,
        )
        return ("STALL" if stands_still else "STEP_SLOW"), finding

    def _feed(self, seconds: float, per_slot: float) -> None:
        self._seconds.feed(seconds)
        if per_slot:
            self._per_slot.feed(per_slot)

    def _note_outlier(self, seconds: float, per_slot: float) -> None:
        """Slow steps that stay on one level are the usual ones from then on."""
        is_steady = self._seconds.note_outlier(seconds)
        is_steady = (not per_slot or self._per_slot.note_outlier(per_slot)) and is_steady
        if is_steady:
            self._seconds.accept_shift()
            if per_slot:
                self._per_slot.accept_shift()
            self._since_look = 0
