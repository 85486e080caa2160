"""The list of runs as one JSON object (docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.events.codec import to_strict_json
from engine.events.summary import Low
from pgs_tui.listing.finding import Tally
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.words import SEVERITIES


def document(folder: str | None, rows: Sequence[RunRow], tally: Tally) -> dict[str, Any]:
    """The runs of the folder, None for those that are registered, as strict JSON."""
    record = {
        "folder": folder,
        "runs": [_run(row) for row in rows if row.is_readable],
        "unreadable": [{"path": row.address, "why": row.trouble} for row in rows if not row.is_readable],
        "cut": tally.cut,
    }
    found: dict[str, Any] = to_strict_json(record)
    return found


def _run(row: RunRow) -> dict[str, Any]:
    summary = row.summary
    has_alerts = summary is not None and (summary.alert_count > 0 or not row.must_sum)
    return {
        "run": row.id,
        "path": row.address,
        "name": row.name,
        "status": "foreign" if row.tool else row.life,
        "tool": row.tool,
        "paused": row.is_paused,
        "reason": summary.reason if summary and summary.reason else None,
        "started": row.started,
        "host": row.host or None,
        "parent": row.parent,
        "model": summary.model if summary and summary.model else None,
        "step": summary.step if summary else None,
        "total_steps": summary.total_steps if summary else None,
        "loss": summary.loss if summary else None,
        "best_loss": _low(summary.lows[-1] if summary and summary.lows else None),
        "eval_loss": summary.eval_loss if summary else None,
        "best_eval": _low(summary.best_eval if summary else None),
        "alerts": {severity: summary.count(severity) if summary else 0 for severity in SEVERITIES}
        if has_alerts
        else None,
        "checkpoint": summary.checkpoint if summary else None,
        "tokens": summary.tokens if summary else None,
        "seconds": row.seconds,
        "bytes": row.size,
        "tags": list(row.labels.tags),
        "note": row.labels.note,
        "trouble": row.trouble or None,
    }


def _low(low: Low | None) -> dict[str, Any] | None:
    return {"step": low[0], "loss": low[1]} if low else None
