"""The health of a training run, step by step: whether to skip, which alerts to raise, when to give up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.events.types import Alert
from engine.health.advice import advise, as_text, settings_of
from engine.health.after_step import AfterStep, touch_non_finite
from engine.health.alerts import IncidentLog
from engine.health.nonfinite import NonFinite
from engine.health.spike_share import SpikeCounter
from engine.health.spikes import SpikeDetector, Verdict
from engine.health.watch import WATCHED, RunWatch

if TYPE_CHECKING:
    from engine.config.schema import Config

FLAG_CAUSES = ("NON_FINITE_LOSS", "SPIKE_SKIPPED", "SPIKE_TAKEN", "NO_TRAINABLE_TOKENS")
METRIC_NAMES = {
    "loss": "loss",
    "hidden_norm": "gradient norm at the last hidden state",
    "grad_norm": "gradient norm",
}
SKIPPED = "the step was skipped"
JUDGED = (
    *FLAG_CAUSES,
    "SPIKES_FREQUENT",
    "LEVEL_SHIFT",
    "SKIPPED_IN_A_ROW",
    "NON_FINITE_GRAD",
    "GRAD_NORM_CLIMB",
    "STALE_WEIGHTS",
    "FLAT",
    *WATCHED,
)
"""The codes of all alerts that the health of a run raises: its `start` event names them, for readers to leave alone."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What follows from one step: the verdict (None without loss tokens), alerts, and why the run must stop, if so."""

    skip: bool
    verdict: Verdict | None
    alerts: tuple[Alert, ...] = ()
    stop: str | None = None

    @property
    def is_flagged(self) -> bool:
        """Whether the step is worth a look at its rows: far out of the usual or not finite, skipped or not."""
        return self.verdict is not None and self.verdict.stands_out


class TrainingHealth:
    """All detectors of a run. Its state comes back from a checkpoint exactly, open incidents included."""

    def __init__(self, config: Config, warmup_steps: int, total_steps: int | None = None) -> None:
        self._settings = settings_of(config)
        self._max_skipped = config.train.max_skipped_in_a_row
        self._spikes = SpikeDetector(config.train.spike_z_threshold, judge_spikes=config.train.spike_detection)
        self._skips_spikes = config.train.spike_detection
        self._gradients = SpikeDetector(config.train.spike_z_threshold, judge_spikes=config.train.spike_detection)
        self._gradients_are_out = False
        self._gate_took_an_outlier = False
        self._incidents = IncidentLog(self._settings)
        self._after = AfterStep(self._incidents, warmup_steps)
        self._skipped_in_a_row = 0
        self._skipped_before = 0
        self._recent_spikes = SpikeCounter()
        self.watch = RunWatch(self._settings, total_steps)
        """What only tells; it is fed with the run's events."""

    def gate(
        self, step: int, loss: float | None, hidden_norm: float | None, *, rows: tuple[int, ...] = ()
    ) -> Judgement:
        """Judge a step before any weight moves: by its loss and the norm of its gradient at the last hidden state.

        `loss` is None when no token of the step has loss; such a step is skipped too.
        """
        if loss is None:
            alerts = [self._incidents.touch("NO_TRAINABLE_TOKENS", step, rows=rows)]
            return self._judgement(step, None, alerts, skip=True)
        verdict = self._spikes.check(step, loss, hidden_norm)
        self._gate_took_an_outlier = verdict.stands_out and not verdict.skip
        alerts = [
            *self._judge_flag(step, verdict, rows),
            *self._judge_shift(step, verdict),
            *self._judge_spike_share(step, verdict),
        ]
        return self._judgement(step, verdict, alerts, skip=verdict.skip)

    def refuse_gradient(
        self,
        step: int,
        loss: float | None,
        grad_norm: float,
        non_finite_parameter: str | None = None,
        *,
        rows: tuple[int, ...] = (),
        judges_size: bool = False,
    ) -> Judgement | None:
        """Judge the whole gradient of a step that passed the gate, before its update; None when there is nothing to it.

        For runs that have all gradients before any weight moves. One that is not finite is skipped. With `judges_size`
        so is a norm far out of the usual; runs that move within the backward pass cannot do that, so neither do those
        without clipping, whose results are to be the same.
        """
        if not math.isfinite(grad_norm):
            verdict = Verdict(True, "not finite", "grad_norm", grad_norm, stands_out=True)
            alert = touch_non_finite(self._incidents, step, grad_norm, non_finite_parameter, rows, SKIPPED)
            return self._skipped_after_gate(step, verdict, [alert])
        if not judges_size or self._gate_took_an_outlier:  # what was taken knowingly is not refused for its size
            return None
        found = self._gradients.check(step, loss, grad_norm)
        verdict = replace(found, metric="grad_norm", reason="grad_norm" if found.reason else None)
        was_out, self._gradients_are_out = self._gradients_are_out, found.stands_out and found.metric == "hidden_norm"
        if not self._gradients_are_out:
            causes = (code for code in FLAG_CAUSES if was_out)
            cleared = self._incidents.clear_all(*causes)
            return Judgement(False, verdict, tuple(cleared)) if cleared else None
        alerts = [*self._judge_flag(step, verdict, rows), *self._judge_shift(step, verdict)]
        if found.skip:
            return self._skipped_after_gate(step, verdict, [*alerts, *self._judge_spike_share(step, verdict)])
        return Judgement(False, verdict, tuple(alerts))

    def _skipped_after_gate(self, step: int, verdict: Verdict, alerts: list[Alert]) -> Judgement:
        self._skipped_in_a_row = self._skipped_before  # the gate has counted this step as a good one
        return self._judgement(step, verdict, alerts, skip=True)

    def after(
        self,
        step: int,
        loss: float | None,
        grad_norm: float | None,
        moved: float | None,
        *,
        learning_rate: float,
        skipped: bool = False,
        rows: tuple[int, ...] = (),
        non_finite_parameter: str | None = None,
    ) -> tuple[Alert, ...]:
        """What the whole gradient and the movement of the weights tell of a step, when they are known.

        `grad_norm` is the norm over all gradients, None where a skipped step has none; `moved` the share of the
        movement asked for that arrived, None for a skipped step.
        """
        if loss is None:
            return ()
        if skipped:
            return self._after.judge_skipped(step, grad_norm)
        return self._after.judge_taken(step, loss, grad_norm, moved, learning_rate, rows, non_finite_parameter)

    def state_dict(self) -> dict[str, Any]:
        return {
            "spikes": self._spikes.state_dict(),
            "gradients": self._gradients.state_dict(),
            "gradients_are_out": self._gradients_are_out,
            **self._after.state_dict(),
            "incidents": self._incidents.state_dict(),
            "skipped_in_a_row": self._skipped_in_a_row,
            "recent_spikes": self._recent_spikes.state(),
            "watch": self.watch.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._spikes.load_state_dict(state["spikes"])
        self._after.load_state_dict(state)
        if "gradients" in state:  # checkpoints of earlier versions have none
            self._gradients.load_state_dict(state["gradients"])
            self._gradients_are_out = state["gradients_are_out"]
        self._incidents.load_state_dict(state["incidents"])
        self._skipped_in_a_row = state["skipped_in_a_row"]
        self._recent_spikes.load_state(state["recent_spikes"])
        self.watch.load_state_dict(state.get("watch", {}))

    def _judge_flag(self, step: int, verdict: Verdict, rows: tuple[int, ...]) -> list[Alert]:
        code = _skip_code(verdict) or self._taken_code(verdict)
        others = (cause for cause in FLAG_CAUSES if cause != code)
        alerts = [] if self._gradients_are_out and code is None else self._incidents.clear_all(*others)
        if code is not None:
            alerts.append(
                self._incidents.touch(
                    code,
                    step,
                    value=verdict.value,
                    baseline=verdict.baseline,
                    rows=rows,
                    measured=verdict.metric,
                    metric=METRIC_NAMES[verdict.metric],
                    spread=verdict.spread,
                    where=" at the last hidden state",
                    outcome=SKIPPED,
                )
            )
        return alerts

    def _taken_code(self, verdict: Verdict) -> str | None:
        """The code of a spike that is not skipped because nobody wants spikes skipped."""
        return "SPIKE_TAKEN" if verdict.stands_out and not self._skips_spikes else None

    def _judge_shift(self, step: int, verdict: Verdict) -> list[Alert]:
        if not verdict.shifted:
            return self._incidents.clear_all("LEVEL_SHIFT")
        name = METRIC_NAMES[verdict.metric]
        return [
            self._incidents.touch(
                "LEVEL_SHIFT",
                step,
                value=verdict.value,
                baseline=verdict.baseline,
                measured=verdict.metric,
                metric=name,
            )
        ]

    def _judge_spike_share(self, step: int, verdict: Verdict) -> list[Alert]:
        spikes = self._recent_spikes.check(verdict.skip and verdict.reason != "not finite")
        if spikes.is_few:
            return self._incidents.clear_all("SPIKES_FREQUENT")
        if not spikes.is_many or self._incidents.is_open("SPIKES_FREQUENT"):
            return []
        share, steps = f"{spikes.share:.0%}", str(spikes.steps)
        return [self._incidents.touch("SPIKES_FREQUENT", step, value=spikes.share, share=share, steps=steps)]

    def _judgement(self, step: int, verdict: Verdict | None, alerts: list[Alert], *, skip: bool) -> Judgement:
        self._skipped_before = self._skipped_in_a_row
        self._skipped_in_a_row = self._skipped_in_a_row + 1 if skip else 0
        if self._skipped_in_a_row < self._max_skipped:
            return Judgement(skip, verdict, (*alerts, *self._incidents.clear_all("SKIPPED_IN_A_ROW")))
        code = "NO_TRAINABLE_TOKENS" if verdict is None else _skip_code(verdict)
        last = next(alert.meaning for alert in alerts if alert.code == code and alert.state != "closed")
        end = self._incidents.touch("SKIPPED_IN_A_ROW", step, steps=str(self._skipped_in_a_row), last=last)
        advice = advise("NO_TRAINABLE_TOKENS", self._settings) if verdict is None else end.advice
        return Judgement(skip, verdict, (*alerts, end), stop="; try ".join((end.meaning, *map(as_text, advice))))


def _skip_code(verdict: Verdict) -> str | None:
    if not verdict.skip:
        return None
    if verdict.reason == "not finite":
        assert verdict.value is not None
        return NonFinite(verdict.metric, verdict.value).code
    return "SPIKE_SKIPPED"
