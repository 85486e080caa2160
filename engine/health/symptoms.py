"""What each alert means and what to do about it: one table, and the function that fills it in for a config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.events.types import Advice, Scalar, Severity

LION = frozenset({"lion", "lion8bit"})
ADAMW = frozenset({"adamw", "adamw8bit"})
SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Remedy:
    """A key to change by a factor, or to switch on, and why; `optimizers` limits it to runs with one of these."""

    key: str
    factor: float | Literal[True]
    why: str
    optimizers: frozenset[str] = LION | ADAMW


@dataclass(frozen=True, slots=True)
class Symptom:
    """How grave an alert is, what it means, and what to try.

    `meaning` names in braces what the detector fills in; `ending` is added when the alert closes. From `grave_after`
    steps on, the severity is `grave`.
    """

    severity: Severity
    meaning: str
    remedies: tuple[Remedy, ...] = ()
    grave: Severity = "critical"
    grave_after: int | None = None
    ending: str = "over after {steps}"

    def severity_after(self, steps: int) -> Severity:
        return self.grave if self.grave_after is not None and steps >= self.grave_after else self.severity


RATE, DECAY = "train.learning_rate", "train.weight_decay"
TENTH_OF_THE_RATE = Remedy(RATE, 0.1, "the usual cause is a learning rate that is too high: divide it by 10")
LION_RATE = Remedy(
    RATE, 0.2, "Lion moves every weight by the full rate: divide a rate meant for AdamW by 3 to 10", LION
)
LION_DECAY = Remedy(DECAY, 5.0, "with a smaller rate Lion needs a weight decay larger by the same factor", LION)

SYMPTOMS: dict[str, Symptom] = {
    "NON_FINITE_LOSS": Symptom(
        "error", "the loss is {value}, not a finite number: the step was skipped", (TENTH_OF_THE_RATE,), grave_after=3
    ),
    "NON_FINITE_GRAD": Symptom(
        "error", "the gradient{where} is not finite: {outcome}", (TENTH_OF_THE_RATE,), grave_after=3
    ),
    "SPIKE_SKIPPED": Symptom(
        "warning",
        "{metric} {value}, usually {baseline} ± {spread}: the step was skipped, no weight changed",
        (Remedy(RATE, 0.5, "harmless below 1 % of the steps; if there are more, halve the learning rate"),),
        grave="error",
        grave_after=5,
    ),
    "SPIKE_TAKEN": Symptom(
        "warning",
        "{metric} {value}, usually {baseline} ± {spread}: the step was taken, since train.spike_detection is false",
        (Remedy(RATE, 0.5, "harmless below 1 % of the steps; if there are more, halve the learning rate"),),
        grave="error",
        grave_after=5,
    ),
    "SPIKES_FREQUENT": Symptom(
        "warning",
        "{share} of the last {steps} steps were skipped as spikes: look at the rows behind them and filter the data",
        (Remedy(RATE, 0.5, "if the rows look right, halve the learning rate"),),
        ending="spikes are rare again",
    ),
    "LEVEL_SHIFT": Symptom(
        "warning",
        "{metric} moved from {baseline} to about {value} and stayed there: the new level counts as usual from now on",
        (Remedy(RATE, 0.5, "if the data does not get harder here, halve the learning rate"),),
        ending="training went on",
    ),
    "SKIPPED_IN_A_ROW": Symptom(
        "critical", "{steps} steps in a row were skipped, so the run stops: {last}", (TENTH_OF_THE_RATE,)
    ),
    "GRAD_NORM_CLIMB": Symptom(
        "error",
        "the gradient norm climbs from {baseline} to {value} within a few steps: the run is about to diverge",
        (
            LION_RATE,
            LION_DECAY,
            Remedy(RATE, 0.3, "the learning rate is too high: divide it by 3, or warm up longer", ADAMW),
        ),
        ending="it came down again or settled",
    ),
    "STALE_WEIGHTS": Symptom(
        "warning",
        "the weights move by {share} of what the optimizer asks for: rounding to bfloat16 takes the rest away",
        (
            Remedy("train.stochastic_rounding", True, "rounds at random, so that small updates count on average"),
            Remedy(RATE, 10.0, "or a larger learning rate, whose updates reach the next number"),
        ),
        ending="they follow again",
    ),
    "NO_TRAINABLE_TOKENS": Symptom(
        "warning",
        "no token of this step has loss: no weight changed",
        (Remedy("data.max_seq_length", 2, "answers that begin behind the limit are cut off: double it"),),
        grave="error",
        grave_after=3,
    ),
    "FLAT": Symptom(
        "warning",
        "the loss stays at {value} (slope {slope} per step over {steps} steps) "
        "at learning rate {learning_rate} and gradient norm {grad_norm}",
        (Remedy(RATE, 2.0, "too small a learning rate learns nothing: double it"),),
        ending="it has come down",
    ),
}


def advise(code: str, settings: Mapping[str, Scalar]) -> tuple[Advice, ...]:
    """Return the advice for an alert under these settings, which map keys such as `train.learning_rate` to values.

    Where a setting is unknown the advice has no value; where it is 0, a factor changes nothing and it is left out.
    """
    optimizer = settings.get("train.optimizer")
    remedies = (r for r in SYMPTOMS[code].remedies if optimizer is None or optimizer in r.optimizers)
    return tuple(
        Advice(key=remedy.key, value=_changed(settings.get(remedy.key), remedy.factor), why=remedy.why)
        for remedy in remedies
        if _changes_anything(settings.get(remedy.key), remedy)
    )


def advised_keys() -> frozenset[str]:
    """Return the keys whose values `advise` wants to know."""
    keys = {remedy.key for symptom in SYMPTOMS.values() for remedy in symptom.remedies}
    return frozenset(keys | {"train.optimizer"})


def _changes_anything(value: Scalar, remedy: Remedy) -> bool:
    return value is not True if remedy.factor is True else value != 0


def _changed(value: Scalar, factor: float | Literal[True]) -> Scalar:
    if factor is True:
        return True
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    changed = value * factor
    return round(changed) if isinstance(value, int) else float(f"{changed:.{SIGNIFICANT_DIGITS}g}")
