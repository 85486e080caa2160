"""A frame as one JSON object (docs/json.md)."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from typing import Any

from engine.events import Eval, Gpu
from engine.events.codec import to_strict_json
from engine.incidents.as_json import incident_record
from pgs_tui.drawing.curves import Curves
from pgs_tui.export.frame import ChartFrame, Frame
from pgs_tui.history.series import Columns
from pgs_tui.panel_names import WORDS
from pgs_tui.widgets.memory_panel import MemoryView


def frame_as_json(frame: Frame) -> str:
    """One line, without its newline."""
    return json.dumps(document(frame), ensure_ascii=False, allow_nan=False)


def document(frame: Frame) -> dict[str, Any]:
    """The frame as strict JSON: a number that is not finite is its name."""
    status, end = frame.status, frame.end
    record = {
        "run": frame.run,
        "path": frame.path,
        "name": status.name,
        "state": status.state,
        "outcome": frame.outcome,
        "told": list(frame.told[:2]) if frame.told else None,
        "step": status.step,
        "total_steps": status.total,
        "epoch": status.epoch,
        "tokens": frame.tokens,
        "rates": asdict(frame.rates) if frame.rates is not None else None,
        "clip_scale": frame.clip_scale,
        "remaining": status.remaining,
        "age": frame.age,
        "charts": {chart.name: _chart(chart) for chart in frame.charts},
        "eval": _eval(frame.newest_eval),
        "best": _eval(frame.best_eval),
        "checkpoint": frame.checkpoint,
        "end": {"status": end.status, "reason": end.reason, "exit_code": end.exit_code} if end else None,
        "memory": _memory(frame.memory),
        "time_parts": dict(frame.parts.shares),
        "gpus": [_gpu(gpu) for gpu in frame.gpus],
        "ranks": list(frame.ranks),
        "incidents": [incident_record(one) for one in frame.incidents],
        "notes": list(frame.notes),
    }
    found: dict[str, Any] = to_strict_json(record)
    return found


def _chart(chart: ChartFrame) -> dict[str, Any]:
    view = chart.view
    return {
        "label": WORDS[chart.name],
        "value": chart.value,
        "words": view.value,
        "note": view.note,
        "summary": view.summary[0] if view.summary else "",
        "curve": _curve(chart.curves) if chart.curves else None,
    }


def _curve(curves: Curves) -> dict[str, Any]:
    raw, smooth = curves.raw, curves.smooth
    return {
        "start": raw.start,
        "end": raw.end,
        "low": _values(raw, raw.low),
        "high": _values(raw, raw.high),
        "smooth": [None if low > high else (low + high) / 2 for low, high in zip(smooth.low, smooth.high, strict=True)]
        if smooth
        else None,
        "not_finite": sorted(raw.marks),
        "points": [list(point) for point in curves.points],
        "marks": [{"x": mark.x, "kind": mark.kind, "label": mark.label} for mark in curves.marks],
        "reference": curves.reference,
    }


def _values(columns: Columns, values: tuple[float, ...]) -> list[float | None]:
    return [value if isfinite(value) else None for value in values]


def _eval(event: Eval | None) -> dict[str, Any] | None:
    return {"step": event.step, "loss": event.loss, "name": event.name} if event else None


def _memory(view: MemoryView) -> dict[str, Any]:
    return {
        "title": view.title,
        "device": view.device,
        "used": view.used,
        "total": view.total,
        "estimate": view.estimate,
        "parts": {part.name: part.amount for part in view.parts},
        "readings": [list(pair) for pair in view.readings],
        "alarm": view.alarm,
    }


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "name": gpu.name,
        "utilisation": gpu.utilisation,
        "temperature": gpu.temperature,
        "power": gpu.power,
        "throttle": list(gpu.throttle),
        "error": gpu.error,
    }
