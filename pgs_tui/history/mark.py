"""One thing that happened at a step, as it is marked on the curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from engine.events import Severity

MarkKind = Literal["spike", "nan", "stalled", "alert", "audit", "skipped", "resume", "best", "eval", "checkpoint"]
KINDS: tuple[MarkKind, ...] = get_args(MarkKind)
"""The gravest first, of two of the same severity."""
ODD: tuple[MarkKind, ...] = ("spike", "nan", "stalled", "skipped")
"""Values at steps with such a mark are no part of what is usual."""
MarkRole = Literal["bad", "warn", "good", "accent", "dim"]

ROLES: dict[MarkKind, MarkRole] = {
    "nan": "bad",
    "skipped": "warn",
    "resume": "accent",
    "best": "good",
    "eval": "accent",
    "checkpoint": "dim",
}
SEVERITIES: dict[MarkKind, Severity] = {"nan": "error", "skipped": "warning"}
"""Of marks that are no incident's; the others are for information."""
ROLES_OF_SEVERITIES: dict[str, MarkRole] = {"info": "dim", "warning": "warn", "error": "bad", "critical": "bad"}
GRAVITY = tuple(ROLES_OF_SEVERITIES)
STALLS = ("STALL", "STEP_SLOW", "THROTTLED", "SILENT")
"""Codes of incidents that tell of waiting."""

Place = tuple[MarkKind, str | None]
"""A kind of mark, and the field of a step that it belongs to; None where it belongs to all charts."""
PLAIN: tuple[Place, ...] = (
    ("nan", "loss"),
    ("nan", "grad_norm"),
    ("skipped", None),
    ("resume", None),
    ("best", "loss"),
    ("eval", "loss"),
    ("checkpoint", None),
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something at a step. `metric` is the field of a step that it belongs to, None where it belongs to all charts.

    `incident_id` names the incident, if it is one's; `rows` are those of the batch, where its alert told them.
    """

    kind: MarkKind
    step: int
    label: str
    role: MarkRole
    severity: Severity = "info"
    incident_id: str | None = None
    rows: tuple[int, ...] = ()
    metric: str | None = None

    @property
    def gravity(self) -> tuple[int, int]:
        """Greater for what matters more."""
        severity = GRAVITY.index(self.severity) if self.severity in GRAVITY else 0
        return severity, -KINDS.index(self.kind)


def kind_of(code: str) -> MarkKind:
    """The kind of mark that an alert of this code makes."""
    if code.startswith("SPIKE_") or code.endswith("_SPIKE"):
        return "spike"
    if code.startswith("NON_FINITE_") or code.endswith("_NAN"):
        return "nan"
    return "stalled" if code in STALLS else "alert"


def plain_mark(kind: MarkKind, step: int, metric: str | None) -> Mark:
    what = f"{metric} not finite" if kind == "nan" else kind
    return Mark(kind, step, f"{what} {step}", ROLES[kind], SEVERITIES.get(kind, "info"), None, (), metric)
