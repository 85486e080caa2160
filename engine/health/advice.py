"""From an alert's code and a run's settings to what to change: keys and values that its config accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.events.types import Advice, Alert, Event, Scalar
from engine.health.symptom import Facts, Settings
from engine.health.symptoms import SYMPTOMS

if TYPE_CHECKING:
    from engine.config.schema import Config

NO_FACTS: Mapping[str, Scalar] = {}


def advise(code: str, settings: Settings, facts: Facts = NO_FACTS) -> tuple[Advice, ...]:
    """The advice for an alert under these settings; none for a code that is not in the table.

    Where a setting is unknown the advice has no value; what would change nothing is left out. `facts` are what the
    alert's detector found: `IncidentLog.touch` takes them.
    """
    symptom = SYMPTOMS.get(code)
    remedies = symptom.remedies if symptom is not None else ()
    offered = (remedy.advice(settings, facts) for remedy in remedies)
    return tuple(advice for advice in offered if advice is not None)


def with_advice(event: Event, settings: Settings) -> Event:
    """The event, with the table's advice where it is an alert that opens and has none of its own."""
    if not isinstance(event, Alert) or event.advice or event.state == "closed":
        return event
    return replace(event, advice=advise(event.code, settings))


def settings_of(config: Config) -> dict[str, Scalar]:
    """The values of a config by their full keys, those that are one value."""
    sections = config.model_dump()
    return {
        f"{section}.{name}": value
        for section, keys in sections.items()
        for name, value in keys.items()
        if value is None or isinstance(value, (str, int, float, bool))
    }


def advised_keys() -> frozenset[str]:
    """The keys that an advice may name as the one to change."""
    return frozenset(remedy.key for symptom in SYMPTOMS.values() for remedy in symptom.remedies)


def as_text(advice: Advice) -> str:
    """An advice on a line: `train.learning_rate: 1e-06 with train.min_learning_rate: 1e-07 (why)`."""
    also = "".join(f"{' with' if place == 0 else ','} {_pair(*pair)}" for place, pair in enumerate(advice.also))
    return f"{_pair(advice.key, advice.value)}{also}" + (f" ({advice.why})" if advice.why else "")


def _pair(key: str, value: Scalar) -> str:
    return f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
