"""The incidents of a run: what its alerts and the audit of its data have told, newest state of each."""

from __future__ import annotations

from dataclasses import dataclass

from engine.events import Advice, Alert, Audit, AuditFlag, Severity

SHOWN: tuple[Severity, ...] = ("warning", "error", "critical")
"""Findings about the data below this severity stay out of the alerts."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident, as its newest event left it."""

    id: str
    code: str
    severity: Severity
    meaning: str
    open: bool
    step: int | None = None
    metric: str | None = None
    value: float | None = None
    baseline: float | None = None
    count: int = 1
    advice: tuple[Advice, ...] = ()
    rows: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The code as words: `LOSS_SPIKE` reads as `loss spike`."""
        return self.code.replace("_", " ").lower()


class Incidents:
    """All incidents in the order in which they opened."""

    def __init__(self) -> None:
        self._by_id: dict[str, Incident] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def all(self) -> tuple[Incident, ...]:
        """Every incident, oldest first."""
        return tuple(self._by_id.values())

    def take(self, alert: Alert) -> None:
        """Open, update or close the incident that the alert speaks of."""
        known = self._by_id.get(alert.id)
        self._by_id[alert.id] = Incident(
            id=alert.id,
            code=alert.code,
            severity=alert.severity,
            meaning=alert.meaning or (known.meaning if known else ""),
            open=alert.state != "closed",
            step=alert.step if known is None or known.step is None else known.step,
            metric=alert.metric or (known.metric if known else None),
            value=alert.value if alert.value is not None or known is None else known.value,
            baseline=alert.baseline if alert.baseline is not None or known is None else known.baseline,
            count=alert.count,
            advice=alert.advice or (known.advice if known else ()),
            rows=alert.rows or (known.rows if known else ()),
        )

    def take_audit(self, audit: Audit) -> None:
        """Show the findings about the data that someone should look at."""
        for flag in audit.flags:
            if flag.severity in SHOWN:
                self._by_id[f"audit {flag.code}"] = _finding(flag)


def _finding(flag: AuditFlag) -> Incident:
    return Incident(
        id=f"audit {flag.code}",
        code=flag.code,
        severity=flag.severity,
        meaning=flag.message,
        open=True,
        count=flag.count,
        rows=flag.first_rows,
    )
