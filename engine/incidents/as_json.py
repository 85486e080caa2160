"""An incident as commands and the interface write it as JSON (docs/json.md)."""

from __future__ import annotations

from typing import Any

from engine.incidents.incident import Incident


def incident_record(one: Incident) -> dict[str, Any]:
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
        "spread": one.spread,
        "meaning": one.meaning,
        "advice": [
            {"key": advice.key, "value": advice.value, "why": advice.why, "also": [list(pair) for pair in advice.also]}
            for advice in one.advice
        ],
        "rows": list(one.rows),
    }
