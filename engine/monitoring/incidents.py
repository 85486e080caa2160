"""The incidents of a run as its alerts tell them, and what each alert changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from engine.events import Advice, Alert, Audit, End, Severity
from engine.health.over_at_the_end import THE_RUN_IS_OVER, codes_over_with

ORDER: tuple[Severity, ...] = ("info", "warning", "error", "critical")
Change = Literal["opened", "graver", "closed"]
MOST = 5000
"""Incidents kept: of more, those that are over go first, the oldest of them ahead."""
_END = "end-"
"""How the ids of alerts begin that tell of the end of a run's process."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident, as its newest alert left it. `step` is its first, `last_step` its newest step."""

    id: str
    code: str
    severity: Severity
    open: bool
    meaning: str
    step: int | None = None
    last_step: int | None = None
    count: int = 1
    metric: str | None = None
    value: float | None = None
    baseline: float | None = None
    advice: tuple[Advice, ...] = ()
    rows: tuple[int, ...] = ()


class Incidents:
    """All incidents, in the order in which they opened. An id that opens again after it was closed is another one."""

    def __init__(self) -> None:
        self._all: dict[str, Incident] = {}
        self._reopened: Counter[str] = Counter()
        self.forgotten = 0
        """How many there was no room for any more."""

    def __iter__(self) -> Iterator[Incident]:
        return iter(tuple(self._all.values()))

    @property
    def open(self) -> list[Incident]:
        """Those that still hold, the gravest first, the newest of them first."""
        found = [one for one in reversed(self._all.values()) if one.open]
        return sorted(found, key=lambda one: -ORDER.index(one.severity))

    @property
    def closed(self) -> list[Incident]:
        return [one for one in self._all.values() if not one.open]

    def take(self, alert: Alert) -> tuple[Incident, Change | None]:
        """Take in an alert; returns its incident, and what became of it where that is worth telling."""
        known = self._all.get(self._key(alert.id))
        if known is not None and not known.open and alert.state == "open":
            self._reopened[alert.id] += 1
            known = None
        if known is None:
            self._make_room()
        incident = _after(known, alert)
        self._all[self._key(alert.id)] = incident
        if not incident.open:
            return incident, "closed" if known is None or known.open else None
        if known is None:
            return incident, "opened"
        graver = ORDER.index(incident.severity) > ORDER.index(known.severity)
        return incident, "graver" if graver else None

    def take_audit(self, audit: Audit) -> Iterator[tuple[Incident, Change]]:
        """The findings about the data that somebody should look at are incidents, too."""
        for flag in audit.flags:
            if flag.severity == "info":
                continue
            key = f"audit-{flag.code.lower()}"
            known = key in self._all
            self._all[key] = incident = Incident(
                key, flag.code, flag.severity, True, flag.message, count=flag.count, rows=flag.first_rows
            )
            if not known:
                yield incident, "opened"

    def go_back_to(self, step: int) -> None:
        """Training goes on after `step`: what held only later is undone, as are the reasons why a process ended."""
        for key, one in self._all.items():
            undone = one.last_step is not None and one.last_step > step
            if one.open and (undone or one.id.startswith(_END)):
                self._all[key] = replace(one, open=False)

    def end_with(self, end: End) -> list[Incident]:
        """The run has come to its end: close what is over with it, and return that."""
        codes = codes_over_with(end)
        closed: list[Incident] = []
        for key, one in self._all.items():
            if one.open and one.code in codes:
                self._all[key] = replace(one, open=False, meaning=f"{one.meaning}; {THE_RUN_IS_OVER}")
                closed.append(self._all[key])
        return closed

    def start_anew(self) -> None:
        """Another process trains: what ended the last one is over."""
        for key, one in self._all.items():
            if one.id.startswith(_END):
                self._all[key] = replace(one, open=False)

    def _make_room(self) -> None:
        if len(self._all) >= MOST:
            over = (key for key, one in self._all.items() if not one.open)
            del self._all[next(over, next(iter(self._all)))]
            self.forgotten += 1

    def _key(self, id: str) -> str:
        again = self._reopened[id]
        return f"{id} #{again + 1}" if again else id


def _after(known: Incident | None, alert: Alert) -> Incident:
    first = alert.step if known is None or known.step is None else known.step
    return Incident(
        id=alert.id,
        code=alert.code,
        severity=alert.severity,
        open=alert.state != "closed",
        meaning=alert.meaning or (known.meaning if known else ""),
        step=first,
        last_step=alert.step if alert.step is not None else (known.last_step if known else None),
        count=alert.count,
        metric=alert.metric or (known.metric if known else None),
        value=alert.value if alert.value is not None or known is None else known.value,
        baseline=alert.baseline if alert.baseline is not None or known is None else known.baseline,
        advice=alert.advice or (known.advice if known else ()),
        rows=alert.rows or (known.rows if known else ()),
    )
