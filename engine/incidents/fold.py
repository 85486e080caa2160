"""The incidents of a run, folded from its alerts and the audit of its data; for whoever shows or judges a run."""

from __future__ import annotations

from typing import Literal

from engine.events.types import Alert, Audit, AuditFlag, End, Severity
from engine.incidents.incident import Incident, Touch
from engine.incidents.over_at_the_end import THE_RUN_IS_OVER, codes_over_with
from engine.incidents.record import Record

SHOWN: tuple[Severity, ...] = ("warning", "error", "critical")
"""Findings about the data below this severity are no incidents."""
MOST = 5000
"""Incidents kept: of more, those that are over go first, the oldest of them ahead."""
Change = Literal["opened", "graver", "closed"]
_END = "end-"
"""How the ids of alerts begin that tell of the end of a run's process."""


class Incidents:
    """All incidents in the order in which they opened."""

    def __init__(self) -> None:
        self.superseded: list[Incident] = []
        """Those of steps that a resume replaced."""
        self.forgotten = 0
        """How many there was no room for any more."""
        self._by_id: dict[str, Record] = {}
        self._all: tuple[Incident, ...] | None = ()

    def __len__(self) -> int:
        return len(self._by_id)

    def all(self) -> tuple[Incident, ...]:
        """Every incident, oldest first."""
        if self._all is None:
            self._all = tuple(record.incident for record in self._by_id.values())
        return self._all

    def open(self) -> list[Incident]:
        """Those that still hold, the gravest first, the newest of them first."""
        return sorted((one for one in reversed(self.all()) if one.open), key=lambda one: -one.gravity)

    def get(self, id: str) -> Incident | None:
        """The incident of that name."""
        record = self._by_id.get(id)
        return record.incident if record else None

    def touches(self, id: str) -> tuple[Touch, ...]:
        """Every step that the incident touched, in order; none for one that belongs to no step."""
        record = self._by_id.get(id)
        return tuple(record.touch(place) for place in range(len(record.steps))) if record else ()

    def touch(self, id: str, step: int) -> Touch | None:
        """What the incident did at that very step."""
        record = self._by_id.get(id)
        return record.touch_at(step) if record else None

    def take(self, alert: Alert, now: int | None = None, by_reader: bool = False) -> tuple[Incident, Change | None]:
        """Open, update or close the incident that the alert speaks of; `now` is the run's newest step.

        `by_reader` says that the alert is not the engine's. Returns the incident, and what became of it where that is
        worth telling.
        """
        self._all = None
        record, before = self._by_id.get(alert.id), None
        if record is None:
            opened = Incident(alert.id, alert.code, alert.severity, alert.meaning, open=True)
            record = self._keep(Record(opened, by_reader))
        else:
            before = record.incident
        record.take(alert, now)
        return record.incident, _change(before, record.incident)

    def forget(self, id: str) -> None:
        """Take out an incident that something else tells by now."""
        self._all = None
        self._by_id.pop(id, None)

    def take_audit(self, audit: Audit) -> tuple[tuple[Incident, Change | None], ...]:
        """The findings about the data that someone should look at; one that was known already changes nothing."""
        self._all = None
        found = [_finding(flag) for flag in audit.flags if flag.severity in SHOWN]
        news: list[tuple[Incident, Change | None]] = []
        for one in found:
            news.append((one, None if one.id in self._by_id else "opened"))
            self._keep(Record(one))
        return tuple(news)

    def end_with(self, end: End) -> list[Incident]:
        """The run has come to its end: close what is over with it, and return that."""
        codes = codes_over_with(end)
        over = [one for one in self._by_id.values() if one.incident.open and one.incident.code in codes]
        for record in over:
            record.close(THE_RUN_IS_OVER, end.last_step)
        self._all = None
        return [record.incident for record in over]

    def start_anew(self) -> None:
        """Another process trains: what ended the last one is over."""
        self._all = None
        for record in self._by_id.values():
            if record.incident.open and record.incident.id.startswith(_END):
                record.close()

    def rewind(self, from_step: int) -> None:
        """Steps after `from_step` are trained anew: go back to what was known of each incident then.

        Those that opened later are put aside; those that ended later are open again. What a reader told is over
        instead, for its judgement begins anew.
        """
        self.start_anew()
        for record in list(self._by_id.values()):
            if record.by_reader:
                if record.incident.open and record.steps and record.steps[-1] > from_step:
                    record.close()
            elif record.steps and record.steps[0] > from_step:
                self.superseded.append(self._by_id.pop(record.incident.id).incident)
            else:
                record.rewind(from_step)
        del self.superseded[:-MOST]

    def _keep(self, record: Record) -> Record:
        id = record.incident.id
        if id not in self._by_id and len(self._by_id) >= MOST:
            over = (id for id, one in self._by_id.items() if not one.incident.open)
            del self._by_id[next(over, next(iter(self._by_id)))]
            self.forgotten += 1
        self._by_id[id] = record
        return record


def _change(before: Incident | None, now: Incident) -> Change | None:
    was_open = before is not None and before.open
    if not now.open:
        return "closed" if before is None or was_open else None
    if before is None or not was_open:
        return "opened"
    return "graver" if now.gravity > before.gravity else None


def _finding(flag: AuditFlag) -> Incident:
    return Incident(
        id=f"audit-{flag.code.lower()}",
        code=flag.code,
        severity=flag.severity,
        meaning=flag.message,
        open=True,
        count=flag.count,
        rows=flag.first_rows,
    )
