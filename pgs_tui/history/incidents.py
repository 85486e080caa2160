"""The incidents of a run: what its alerts and the audit of its data have told, and the steps that each touched."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, replace

from engine.events import Advice, Alert, Audit, AuditFlag, End, Severity
from pgs_tui.history.axis import LARGEST_STEP

SHOWN: tuple[Severity, ...] = ("warning", "error", "critical")
"""Findings about the data below this severity stay out of the alerts."""
MOST = 5000
"""Incidents kept: of more, those that are over go first, the oldest of them ahead."""
MOST_ROWS = 256
"""Steps of an incident whose rows are kept, the first ones; those of the others stand in the log."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A step that an incident touched: what was measured there, and the rows of its batch where they are known."""

    step: int
    value: float | None
    baseline: float | None
    spread: float | None
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident. Its step, value, baseline and rows belong together: they are those of the first step it touched.

    Everything else is as its newest event left it. `last_step` is the newest step that it touched.
    """

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
    last_step: int | None = None

    @property
    def title(self) -> str:
        """The code as words: `LOSS_SPIKE` reads as `loss spike`."""
        return self.code.replace("_", " ").lower()


class Incidents:
    """All incidents in the order in which they opened."""

    def __init__(self) -> None:
        self.superseded: list[Incident] = []
        """Those of steps that a resume replaced."""
        self.forgotten = 0
        """How many there was no room for any more."""
        self._by_id: dict[str, _Record] = {}
        self._all: tuple[Incident, ...] | None = ()

    def __len__(self) -> int:
        return len(self._by_id)

    def all(self) -> tuple[Incident, ...]:
        """Every incident, oldest first."""
        if self._all is None:
            self._all = tuple(record.incident for record in self._by_id.values())
        return self._all

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
        place = bisect_right(record.steps, step) - 1 if record else -1
        return record.touch(place) if record and place >= 0 and record.steps[place] == step else None

    def take(self, alert: Alert, now: int | None = None) -> bool:
        """Open, update or close the incident that the alert speaks of; `now` is the run's newest step.

        Returns whether it touches a step that it had not touched.
        """
        self._all = None
        record = self._by_id.get(alert.id)
        if record is None:
            self._make_room()
            record = self._by_id[alert.id] = _Record(_opened(alert))
        return record.take(alert, now)

    def take_audit(self, audit: Audit) -> tuple[Incident, ...]:
        """Show the findings about the data that someone should look at; returns them."""
        self._all = None
        found = tuple(_finding(flag) for flag in audit.flags if flag.severity in SHOWN)
        for incident in found:
            if incident.id not in self._by_id:
                self._make_room()
            self._by_id[incident.id] = _Record(incident)
        return found

    def end_with(self, end: End) -> None:
        """The run has come to its end: close what is over with it."""
        from engine.health.over_at_the_end import THE_RUN_IS_OVER, codes_over_with  # the first frame waits for no rules

        self._all = None
        codes = codes_over_with(end)
        for record in self._by_id.values():
            if record.incident.open and record.incident.code in codes:
                record.close(THE_RUN_IS_OVER, end.last_step)

    def rewind(self, from_step: int) -> None:
        """Steps after `from_step` are written anew: go back to what was known of each incident then.

        Those that opened later are put aside; those that ended later are open again.
        """
        self._all = None
        for record in list(self._by_id.values()):
            if record.steps and record.steps[0] > from_step:
                self.superseded.append(self._by_id.pop(record.incident.id).incident)
            else:
                record.rewind(from_step)
        del self.superseded[:-MOST]

    def _make_room(self) -> None:
        if len(self._by_id) < MOST:
            return
        over = (id for id, record in self._by_id.items() if not record.incident.open)
        del self._by_id[next(over, next(iter(self._by_id)))]
        self.forgotten += 1


class _Record:
    """An incident, and of each step that it touched its number, value, baseline, count and severity."""

    def __init__(self, incident: Incident) -> None:
        self.incident = incident
        self.steps, self._counts = array("q"), array("q")
        self._values: list[float | None] = []
        self._baselines: list[float | None] = []
        self._spreads: list[float | None] = []
        self._severities: list[Severity] = []
        self._rows: dict[int, tuple[int, ...]] = {}
        self._closed_at: int | None = None

    def take(self, alert: Alert, now: int | None) -> bool:
        known = self.incident
        is_open = alert.state != "closed"
        step = alert.step if alert.step is not None and abs(alert.step) <= LARGEST_STEP else None
        self._closed_at = None if is_open else max((one for one in (step, now) if one is not None), default=None)
        is_new = step is not None and (not self.steps or step > self.steps[-1])
        if step is not None and is_new:
            self._add(step, alert)
        self.incident = replace(
            known,
            code=alert.code,
            severity=alert.severity,
            meaning=alert.meaning or known.meaning,
            open=is_open,
            metric=alert.metric or known.metric,
            count=alert.count,
            advice=alert.advice or known.advice,
        )
        if self.steps:
            self._describe()
        else:
            self._describe_without_step(alert)
        return is_new

    def close(self, why: str, now: int) -> None:
        self._closed_at = now
        self.incident = replace(self.incident, open=False, meaning=f"{self.incident.meaning}; {why}")

    def touch(self, place: int) -> Touch:
        step = self.steps[place]
        return Touch(step, self._values[place], self._baselines[place], self._spreads[place], self._rows.get(step, ()))

    def rewind(self, from_step: int) -> None:
        keep = bisect_right(self.steps, from_step)
        was_closed = self._closed_at is not None and self._closed_at > from_step
        if keep < len(self.steps):
            for step in self.steps[keep:]:
                self._rows.pop(step, None)
            del self.steps[keep:], self._values[keep:], self._baselines[keep:], self._counts[keep:]
            del self._severities[keep:], self._spreads[keep:]
            self.incident = replace(self.incident, count=self._counts[-1], severity=self._severities[-1])
            self._describe()
        if was_closed:
            self._closed_at = None
            self.incident = replace(self.incident, open=True)

    def _add(self, step: int, alert: Alert) -> None:
        self.steps.append(step)
        self._values.append(alert.value)
        self._baselines.append(alert.baseline)
        self._spreads.append(alert.spread)
        self._counts.append(min(max(alert.count, 0), LARGEST_STEP))
        self._severities.append(alert.severity)
        if alert.rows and len(self._rows) < MOST_ROWS:
            self._rows[step] = alert.rows

    def _describe(self) -> None:
        first = self.touch(0)
        self.incident = replace(
            self.incident,
            step=first.step,
            value=first.value,
            baseline=first.baseline,
            rows=first.rows,
            last_step=self.steps[-1],
        )

    def _describe_without_step(self, alert: Alert) -> None:
        known = self.incident
        self.incident = replace(
            known,
            value=known.value if alert.value is None else alert.value,
            baseline=known.baseline if alert.baseline is None else alert.baseline,
            rows=alert.rows or known.rows,
        )


def _opened(alert: Alert) -> Incident:
    return Incident(id=alert.id, code=alert.code, severity=alert.severity, meaning=alert.meaning, open=True)


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
