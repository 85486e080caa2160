"""What an alert is made of: how grave it is, what it means, and the keys of a config to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from engine.events.types import Advice, Scalar, Severity
from engine.health.partners import partners

Settings = Mapping[str, Scalar]
"""A run's own values by key, `train.learning_rate`, as far as they are known: of the log of another tool none is."""
Facts = Mapping[str, Scalar]
"""What a detector found and an advice may need, by name."""

LION = frozenset({"lion", "lion8bit"})
ADAMW = frozenset({"adamw", "adamw8bit"})
SIGNIFICANT_DIGITS = 6
HIGHEST: Mapping[str, float] = {"train.learning_rate": 1.0, "train.weight_decay": 1.0}
"""What a config accepts at the most, for keys that are multiplied."""
CAUSE = "cause"
"""The fact by which an alert with several causes chooses its remedies."""


class Unchanged(Enum):
    """Says that a remedy would change nothing in this run, and is left out."""

    LEFT_OUT = "left out"


NewValue = Scalar | Literal[Unchanged.LEFT_OUT]
Change = Callable[[str, Settings, Facts], NewValue]
"""From a key, the settings and the facts to the key's new value; None where the one to change is not known."""
Why = Callable[[Scalar, Settings], str]
"""The reason for a new value, where it depends on that and on the settings."""


def always(settings: Settings) -> bool:
    """A remedy for every run."""
    return True


def times(factor: float) -> Change:
    """The value multiplied, within what a config accepts; whole numbers stay whole."""

    def change(key: str, settings: Settings, facts: Facts) -> NewValue:
        if key not in settings:
            return None
        value = settings[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return Unchanged.LEFT_OUT
        changed = min(value * factor, HIGHEST.get(key, float("inf")))
        new = max(1, round(changed)) if isinstance(value, int) else float(f"{changed:.{SIGNIFICANT_DIGITS}g}")
        return Unchanged.LEFT_OUT if new == value or value == 0 else new

    return change


def to(value: Scalar) -> Change:
    """This very value, where the run has another one."""

    def change(key: str, settings: Settings, facts: Facts) -> NewValue:
        return Unchanged.LEFT_OUT if key in settings and settings[key] == value else value

    return change


def to_fact(name: str) -> Change:
    """The value that the detector found, where it found one and the run has another."""

    def change(key: str, settings: Settings, facts: Facts) -> NewValue:
        value = facts.get(name)
        return Unchanged.LEFT_OUT if value is None or settings.get(key) == value else value

    return change


def following(steps: Mapping[str, str]) -> Change:
    """The next of several words."""

    def change(key: str, settings: Settings, facts: Facts) -> NewValue:
        return steps.get(str(settings.get(key)), Unchanged.LEFT_OUT)

    return change


@dataclass(frozen=True, slots=True)
class Remedy:
    """A key to change, how, and why.

    It is offered to runs with one of `optimizers`, where `applies` says so of the settings and, of an alert with
    several causes, for those in `causes`; none are all.
    """

    key: str
    change: Change
    why: str | Why
    optimizers: frozenset[str] = LION | ADAMW
    causes: frozenset[str] = frozenset()
    applies: Callable[[Settings], bool] = always

    def advice(self, settings: Settings, facts: Facts) -> Advice | None:
        """What to change in this run; None where it is no remedy for it."""
        optimizer = settings.get("train.optimizer")
        if optimizer is not None and optimizer not in self.optimizers:
            return None
        if (self.causes and facts.get(CAUSE) not in self.causes) or not self.applies(settings):
            return None
        value = self.change(self.key, settings, facts)
        if isinstance(value, Unchanged):
            return None
        why = self.why if isinstance(self.why, str) else self.why(value, settings)
        return Advice(key=self.key, value=value, why=why, also=partners(self.key, value, settings))


@dataclass(frozen=True, slots=True)
class Symptom:
    """How grave an alert is, what it means, and what to try.

    `meaning` names in braces what the detector fills in; `ending` is added when the alert closes. From `grave_after`
    steps in a row on, the severity is `grave`. `beyond` says what to do beyond any key of a config. With `lingers` an
    incident is over only after so many steps without it: what comes back within them is the same one.
    """

    severity: Severity
    meaning: str
    remedies: tuple[Remedy, ...] = ()
    grave: Severity = "critical"
    grave_after: int | None = None
    ending: str = "over after {steps}"
    beyond: str = ""
    lingers: int = 0

    def severity_after(self, steps: int) -> Severity:
        """The severity of an incident of so many steps in a row."""
        return self.grave if self.grave_after is not None and steps >= self.grave_after else self.severity
