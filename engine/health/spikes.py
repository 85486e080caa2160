"""Spikes of the loss and of its gradient at the last hidden state, and whether a step is skipped because of one.

Both are known before the backward pass through the model's body, so also when weights move within that pass.

- Only jumps upwards count, against a robust baseline of the last usual values; outliers never enter it.
- A step that is not finite is skipped from the first step on, whether or not spikes are judged.
- A gradient that is far out over three batches in a row, with a usual loss, belongs to the place where the weights
  stand: none of these steps moved them. The third is taken, since skipping would only stay there.
- Outliers that stay on one new level (harder data, say) are accepted as usual after ten in a row, and training goes on.
  Outliers that climb or jump about, and numbers that are not finite, are never accepted: then every step is skipped
  until `train.max_skipped_in_a_row` ends the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.health.baseline import Baseline, Usual
from engine.health.nonfinite import Judged, find_non_finite
from engine.health.partners import RATE
from engine.health.remedies import HALF_THE_RATE_OF_SPIKES
from engine.health.symptom import Remedy, Symptom, times

NEAR = 20
"""Spikes with fewer steps between them are one incident."""

SYMPTOMS = {
    "SPIKE_SKIPPED": Symptom(
        "warning",
        "{metric} {value}, usually {baseline} ± {spread}: the step was skipped, no weight changed",
        (HALF_THE_RATE_OF_SPIKES,),
        grave="error",
        grave_after=5,
        lingers=NEAR,
    ),
    "SPIKE_TAKEN": Symptom(
        "warning",
        "{metric} {value}, usually {baseline} ± {spread}: the step was taken, since train.spike_detection is false",
        (HALF_THE_RATE_OF_SPIKES,),
        grave="error",
        grave_after=5,
        lingers=NEAR,
    ),
    "LEVEL_SHIFT": Symptom(
        "warning",
        "{metric} moved from {baseline} to about {value} and stayed there: the new level counts as usual from now on",
        (Remedy(RATE, times(0.5), "if the data does not get harder here, halve the learning rate"),),
        ending="training went on",
    ),
}

Reason = Literal["loss", "hidden_norm", "grad_norm", "not finite"]

RELATIVE_FLOORS: dict[Judged, float] = {"loss": 0.05, "hidden_norm": 0.25}
"""Smallest spread as a share of the level. A gradient of twice the usual size does no harm, so its floor is high."""
ABSOLUTE_FLOORS: dict[Judged, float] = {"loss": 0.01, "hidden_norm": 0.01}
"""Smallest spread at all: near zero a factor of three is a wobble."""


STEEP_PLACE_AFTER = 3
"""Batches in a row with a usual loss and a gradient far out that make the weights its cause, not the data."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with one step.

    `metric` and `value` are what the step was judged by: the cause of a skip, otherwise the loss. `baseline` (the
    usual level), `spread` and `z` are None while the baseline is young, and for numbers that are not finite `z` is.
    `spread` and `z` are left None too where all values are so near the usual that no spread makes them stand out,
    unless they were asked for.
    `shifted` says that a lasting new level was accepted with this step, `stands_out` that the step was far out of the
    usual or not finite, whether or not it is skipped for that.
    """

    skip: bool
    reason: Reason | None
    metric: Judged
    value: float | None
    baseline: float | None = None
    spread: float | None = None
    z: float | None = None
    shifted: bool = False
    stands_out: bool = False


class SpikeDetector:
    """Judges one step after the other; `z_threshold` counts standard deviations above the usual level."""

    def __init__(self, z_threshold: float = 6.0, *, judge_spikes: bool = True) -> None:
        self._z_threshold = z_threshold
        self._judge_spikes = judge_spikes
        self._baselines = {
            metric: Baseline(RELATIVE_FLOORS[metric], ABSOLUTE_FLOORS[metric]) for metric in RELATIVE_FLOORS
        }
        self._steep_in_a_row = 0

    def check(self, step: int, loss: float | None, hidden_norm: float | None, *, tells_spread: bool = False) -> Verdict:
        """Judge a step, and take its values into the baseline if they are usual. None is a value not measured.

        `tells_spread` asks for the spread of any step, which takes sorting.
        """
        non_finite = find_non_finite(loss, hidden_norm)
        if non_finite is not None:
            self._steep_in_a_row = 0
            usual = self._baselines[non_finite.metric].usual()
            for baseline in self._baselines.values():
                baseline.forget_outliers()
            return _verdict("not finite", non_finite.metric, non_finite.value, usual, stands_out=True)

        measured: dict[Judged, float] = {}
        if loss is not None:
            measured["loss"] = loss
        if hidden_norm is not None:
            measured["hidden_norm"] = hidden_norm
        if not tells_spread and self._are_near(measured):
            return self._take_near(measured)
        usuals = {metric: self._baselines[metric].usual() for metric in measured}
        outliers = [metric for metric in measured if self._is_outlier(measured[metric], usuals[metric])]
        cause = outliers[0] if outliers else "loss"
        if not outliers or not self._judge_spikes:
            self._steep_in_a_row = 0
            self._feed(measured)
            return _verdict(None, cause, measured.get(cause), usuals.get(cause), stands_out=bool(outliers))

        shifted = self._note_outliers(measured, outliers)
        leaves_steep_place = self._leaves_steep_place(outliers, usuals.get("loss"))
        reason = None if shifted or leaves_steep_place else cause
        verdict = _verdict(reason, cause, measured[cause], usuals[cause], shifted=shifted, stands_out=True)
        if shifted:
            for metric in outliers:
                self._baselines[metric].accept_shift()
            self._feed({metric: value for metric, value in measured.items() if metric not in outliers})
        return verdict

    def state_dict(self) -> dict[str, Any]:
        """Return the baselines as plain lists of numbers; JSON keeps them exactly."""
        baselines: dict[str, Any] = {str(metric): baseline.state_dict() for metric, baseline in self._baselines.items()}
        return {**baselines, "steep_in_a_row": self._steep_in_a_row}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for metric, baseline in self._baselines.items():
            if metric in state:  # a checkpoint of a version that judged by another norm starts that baseline anew
                baseline.load_state_dict(state[metric])
        self._steep_in_a_row = int(state["steep_in_a_row"])

    def _are_near(self, measured: dict[Judged, float]) -> bool:
        return all(self._baselines[metric].is_near(value, self._z_threshold) for metric, value in measured.items())

    def _take_near(self, measured: dict[Judged, float]) -> Verdict:
        """Take in a step whose values are all near the usual, and pass it."""
        level = self._baselines["loss"].level if "loss" in measured else None
        self._steep_in_a_row = 0
        self._feed(measured)
        return Verdict(False, None, "loss", measured.get("loss"), level)

    def _leaves_steep_place(self, outliers: list[Judged], usual_loss: Usual | None) -> bool:
        """Whether so many batches in a row were steep alone that this step must move the weights."""
        is_steep = outliers == ["hidden_norm"] and usual_loss is not None
        self._steep_in_a_row = self._steep_in_a_row + 1 if is_steep else 0
        if self._steep_in_a_row < STEEP_PLACE_AFTER:
            return False
        self._steep_in_a_row = 0
        return True

    def _is_outlier(self, value: float, usual: Usual | None) -> bool:
        return usual is not None and usual.z(value) > self._z_threshold

    def _feed(self, measured: dict[Judged, float]) -> None:
        for metric, value in measured.items():
            self._baselines[metric].feed(value)

    def _note_outliers(self, measured: dict[Judged, float], outliers: list[Judged]) -> bool:
        """Remember this step's outliers; return whether each of them now belongs to a new, steady level."""
        steady = [self._baselines[metric].note_outlier(measured[metric]) for metric in outliers]
        for metric in measured:
            if metric not in outliers:
                self._baselines[metric].forget_outliers()
        return all(steady)


def _verdict(
    reason: Reason | None,
    metric: Judged,
    value: float | None,
    usual: Usual | None,
    *,
    shifted: bool = False,
    stands_out: bool = False,
) -> Verdict:
    measurable = usual is not None and value is not None and reason != "not finite"
    return Verdict(
        skip=reason is not None,
        reason=reason,
        metric=metric,
        value=value,
        baseline=usual.level if usual else None,
        spread=usual.spread if usual else None,
        z=usual.z(value) if usual is not None and value is not None and measurable else None,
        shifted=shifted,
        stands_out=stands_out,
    )
