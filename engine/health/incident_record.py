"""An incident as commands and the interface write it as JSON (docs/json.md); each keeps incidents in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from engine.events import Advice, Severity


class IncidentLike(Protocol):
    """What is told of an incident."""

    @property
    def id(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def open(self) -> bool: ...
    @property
    def step(self) -> int | None: ...
    @property
    def last_step(self) -> int | None: ...
    @property
    def count(self) -> int: ...
    @property
    def metric(self) -> str | None: ...
    @property
    def value(self) -> float | None: ...
    @property
    def baseline(self) -> float | None: ...
    @property
    def meaning(self) -> str: ...
    @property
    def advice(self) -> Sequence[Advice]: ...
    @property
    def rows(self) -> Sequence[int]: ...


def incident_record(one: IncidentLike) -> dict[str, Any]:
    """Its keys and values; numbers that are not finite are left as they are."""
    return {
        "id": one.id,
        "code": one.code,
        "severity": one.severity,
        "open": one.open,
        "step": one.step,
        "last_step": one.last_step,
        "count": one.count,
        "metric": one.metric,
        "value": one.value,
        "baseline": one.baseline,
        "meaning": one.meaning,
        "advice": [
            {"key": advice.key, "value": advice.value, "why": advice.why, "also": [list(pair) for pair in advice.also]}
            for advice in one.advice
        ],
        "rows": list(one.rows),
    }
