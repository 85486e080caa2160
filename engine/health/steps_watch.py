"""Judges the steps of a run by its log alone: of one whose engine did not judge them, and of other tools.

The engine of our own runs judges as it trains and says in its `start` event which alerts it raises itself (`judged`);
those are not raised here. Of an earlier version, which does not say so, what it raised tells that it judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.events.types import Alert, Resume, Scalar, Stamped, Start, Step
from engine.health.alerts import IncidentLog, show
from engine.health.climb import ClimbDetector
from engine.health.clipped_norm import STEPS as CLIPPED_STEPS
from engine.health.clipped_norm import ClippedNormDetector
from engine.health.flat import FlatDetector
from engine.health.nonfinite import NonFinite
from engine.health.spikes import SpikeDetector, Verdict
from engine.health.watch import WATCHED, RunWatch

SEEN_AT_THE_GATE = ("NON_FINITE_LOSS", "NON_FINITE_GRAD", "SPIKE_SKIPPED", "SPIKE_LOGGED", "NO_TRAINABLE_TOKENS")
"""Of these at most one holds at a step."""
JUDGED_BY_ENGINES = ("NON_FINITE_LOSS", "NON_FINITE_GRAD", "SPIKE_SKIPPED", "LEVEL_SHIFT", "GRAD_NORM_CLIMB", "FLAT")
"""What every version of the engine judges itself: where it has told of one, it judges them all."""
JUDGED_HERE = (*SEEN_AT_THE_GATE, "LEVEL_SHIFT", "GRAD_NORM_CLIMB", "FLAT", "NORM_LOOKS_CLIPPED")
WAS_SKIPPED, IS_NOT_SAID = "the step was skipped", "what became of the step is not said"
_JUDGED_HERE = frozenset(JUDGED_HERE)
_ALL_JUDGED = _JUDGED_HERE.union(WATCHED)
METRICS = {"loss": "loss", "hidden_norm": "gradient norm at the last hidden state", "grad_norm": "gradient norm"}


class StepsWatch:
    """Takes the events of a run in the order of its log; alerts come with the event after the step that they are about.

    `is_foreign` says that the log is that of another tool, of which less is known.
    """

    def __init__(
        self,
        settings: Mapping[str, Scalar] | None = None,
        total_steps: int | None = None,
        *,
        is_foreign: bool = False,
    ) -> None:
        self._settings = settings or {}
        self._is_foreign = is_foreign
        self._judged_elsewhere: set[str] = set()
        self._waiting: list[Alert] = []
        self._incidents = IncidentLog(self._settings)
        self._watch = RunWatch(self._settings, total_steps)
        self._begin()

    def take(self, stamped: Stamped) -> tuple[Alert, ...]:
        """The alerts that are due now."""
        event = stamped.event
        if isinstance(event, Alert):
            self._leave_to_the_engine(event.code)
            return ()
        due = self.flush()
        if isinstance(event, Start):
            self._leave_to_the_engine(*event.judged)
        if self._judged_elsewhere >= _ALL_JUDGED:
            return due
        if isinstance(event, Resume):
            self._begin()
            cleared = (self._incidents.clear(code, at_once=True) for code in JUDGED_HERE)
            self._waiting += [alert for alert in cleared if alert is not None]
        elif isinstance(event, Step) and event.rank == 0 and not self._judged_elsewhere >= _JUDGED_HERE:
            self._waiting += self._judge(event)
        self._waiting += self._watch.take(stamped)
        return due

    def flush(self) -> tuple[Alert, ...]:
        """The alerts about what was taken in last."""
        if not self._waiting:
            return ()
        waiting, self._waiting = self._waiting, []
        return tuple(alert for alert in waiting if alert.code not in self._judged_elsewhere)

    def _begin(self) -> None:
        self._spikes = SpikeDetector()
        self._climb = ClimbDetector()
        self._flat = FlatDetector()
        self._clipped = ClippedNormDetector()
        self._last_step: int | None = None
        self._interval = 1

    def _leave_to_the_engine(self, *codes: str) -> None:
        self._judged_elsewhere.update(codes)
        if not self._judged_elsewhere.isdisjoint(JUDGED_BY_ENGINES):
            self._judged_elsewhere.update(JUDGED_HERE)

    def _judge(self, step: Step) -> list[Alert]:
        if self._last_step is not None and step.step > self._last_step:
            self._interval = step.step - self._last_step
        self._last_step = step.step
        alerts = self._judge_values(step)
        alerts += self._judge_climb(step)
        if not step.skipped and step.loss is not None:
            alerts += self._judge_flat(step, step.loss)
        if self._is_foreign:
            alerts += self._judge_clipping(step)
        return alerts

    def _judge_values(self, step: Step) -> list[Alert]:
        """By loss and gradient norm, as the engine does before weights move."""
        if step.loss is None and step.grad_norm is None and step.hidden_norm is None:
            return self._at_the_gate(step, "NO_TRAINABLE_TOKENS" if step.skipped else None, None)
        hidden = step.hidden_norm if step.hidden_norm is not None else step.grad_norm
        verdict = self._spikes.check(step.step, step.loss, hidden, tells_spread=step.skipped)
        if step.hidden_norm is None and verdict.metric == "hidden_norm":
            verdict = replace(verdict, metric="grad_norm")
        alerts = self._at_the_gate(step, _code_of(step, verdict), verdict)
        return [*alerts, *self._judge_shift(step, verdict)]

    def _at_the_gate(self, step: Step, code: str | None, verdict: Verdict | None) -> list[Alert]:
        alerts = self._incidents.clear_all(*(other for other in SEEN_AT_THE_GATE if other != code))
        if code is not None:
            alerts.append(
                self._incidents.touch(
                    code,
                    step.step,
                    value=verdict.value if verdict else None,
                    baseline=verdict.baseline if verdict else None,
                    rows=step.rows,
                    measured=verdict.metric if verdict else None,
                    metric=METRICS[verdict.metric] if verdict else "",
                    spread=verdict.spread if verdict else None,
                    where="",
                    outcome=WAS_SKIPPED if step.skipped else IS_NOT_SAID,
                )
            )
        return alerts

    def _judge_shift(self, step: Step, verdict: Verdict) -> list[Alert]:
        if not verdict.shifted:
            return self._incidents.clear_all("LEVEL_SHIFT")
        metric = METRICS[verdict.metric]
        return [
            self._incidents.touch(
                "LEVEL_SHIFT",
                step.step,
                value=verdict.value,
                baseline=verdict.baseline,
                measured=verdict.metric,
                metric=metric,
            )
        ]

    def _judge_climb(self, step: Step) -> list[Alert]:
        climb = self._climb.check(step.grad_norm)
        if climb is None:
            return self._incidents.clear_all("GRAD_NORM_CLIMB")
        if not climb.is_new_high:
            return []
        touched = self._incidents.touch(
            "GRAD_NORM_CLIMB", step.step, value=climb.highest, baseline=climb.start, measured="grad_norm"
        )
        return [touched]

    def _judge_flat(self, step: Step, loss: float) -> list[Alert]:
        flat = self._flat.check(step.step, loss)
        if flat is None:
            return self._incidents.clear_all("FLAT")
        if self._incidents.is_open("FLAT"):
            return []
        touched = self._incidents.touch(
            "FLAT",
            step.step,
            value=flat.level,
            measured="loss",
            slope=f"{flat.slope / self._interval:+.1e}",
            steps=str(flat.losses * self._interval),
            learning_rate=show(step.lr if step.lr == step.lr else None),
            grad_norm=show(step.grad_norm),
        )
        return [touched]

    def _judge_clipping(self, step: Step) -> list[Alert]:
        norm = self._clipped.check(step.grad_norm)
        if norm is None:
            return self._incidents.clear_all("NORM_LOOKS_CLIPPED")
        if self._incidents.is_open("NORM_LOOKS_CLIPPED"):
            return []
        steps = str(CLIPPED_STEPS)
        touched = self._incidents.touch("NORM_LOOKS_CLIPPED", step.step, value=norm, measured="grad_norm", steps=steps)
        return [touched]


def _code_of(step: Step, verdict: Verdict) -> str | None:
    if verdict.reason == "not finite":
        assert verdict.value is not None
        return NonFinite(verdict.metric, verdict.value).code
    if step.skipped:
        return "SPIKE_SKIPPED"
    return "SPIKE_LOGGED" if verdict.skip else None
