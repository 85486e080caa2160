"""The state of a run as one JSON document, and a change of it as a line (docs/json.md)."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from engine.events import Eval, Step
from engine.events.codec import to_strict_json
from engine.events.rates import rates_of
from engine.incidents.as_json import incident_record
from engine.monitoring.source import Source
from engine.monitoring.summary import METRICS, Told

STEP_FIELDS = ("epoch", "loss", "lr", "tok_s", "grad_norm", "clip_scale", "dt", "moved")


def document(source: Source) -> dict[str, Any]:
    """How the run or the log stands."""
    summary = source.summary
    health = source.health
    values = {name: _measured(summary.step, name) for name in STEP_FIELDS}
    record = {
        "source": source.path,
        "kind": source.kind,
        "state": source.state,
        "phase": summary.phase,
        "step": summary.last_step,
        "total_steps": summary.total_steps,
        **values,
        "rates": _rates(summary.step),
        "usual": {metric: summary.usual(metric) for metric in METRICS},
        "eval": _evaluation(summary.eval),
        "best": _evaluation(summary.best),
        "age": source.age,
        "skipped": summary.skipped,
        "incidents": [incident_record(one) for one in summary.incidents.all()],
        "forgotten": summary.incidents.forgotten,
        "health": health.word,
        "healthy": health.is_well,
        "reason": summary.end.reason if summary.end is not None else None,
        "notes": list(source.notes),
        "bad_lines": source.bad_lines,
    }
    found: dict[str, Any] = to_strict_json(record)
    return found


def change(told: Told) -> dict[str, Any]:
    """Something that changed while it was followed."""
    record = {
        "t": told.t,
        "change": told.change or "told",
        "incident": incident_record(told.incident) if told.incident is not None else None,
        "words": told.words or None,
    }
    found: dict[str, Any] = to_strict_json(record)
    return found


def _rates(step: Step | None) -> dict[str, float] | None:
    rates = rates_of(step) if step is not None else None
    return asdict(rates) if rates is not None else None


def _measured(step: Step | None, name: str) -> float | None:
    """The number, or None for one that the log does not tell; a loss or a norm that is not finite is one."""
    value: float | None = getattr(step, name) if step is not None else None
    is_told = value is not None and (name in ("loss", "grad_norm") or not math.isnan(value))
    return value if is_told else None


def _evaluation(evaluation: Eval | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    return {"step": evaluation.step, "loss": evaluation.loss, "name": evaluation.name}
