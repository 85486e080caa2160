"""One incident over time: what each step added to it, so that a resume can go back to what was known then."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import replace

from engine.events.types import Alert, Severity
from engine.incidents.incident import Incident, Touch

LARGEST_STEP = 2**53
"""A step beyond it, or below its negative, is no number of a run."""
MOST_ROWS = 256
"""Steps of an incident whose rows are kept, the first ones; those of the others stand in the log."""


class Record:
    """An incident, and of each step that it touched its number, value, baseline, count and severity.

    `by_reader` says that not the engine tells of it but who reads its log: no checkpoint brings it back then.
    """

    def __init__(self, incident: Incident, by_reader: bool = False) -> None:
        self.incident = incident
        self.by_reader = by_reader
        self.steps, self._counts = array("q"), array("q")
        self._values: list[float | None] = []
        self._baselines: list[float | None] = []
        self._spreads: list[float | None] = []
        self._severities: list[Severity] = []
        self._rows: dict[int, tuple[int, ...]] = {}
        self._closed_at: int | None = None

    def take(self, alert: Alert, now: int | None) -> None:
        """Take in an alert of it; `now` is the run's newest step."""
        known = self.incident
        is_open = alert.state != "closed"
        step = alert.step if alert.step is not None and abs(alert.step) <= LARGEST_STEP else None
        self._closed_at = None if is_open else max((one for one in (step, now) if one is not None), default=None)
        if step is not None and (not self.steps or step > self.steps[-1]):
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

    def close(self, why: str = "", now: int | None = None) -> None:
        """It is over, without an alert that says so."""
        known = self.incident
        self._closed_at = now
        self.incident = replace(known, open=False, meaning=f"{known.meaning}; {why}" if why else known.meaning)

    def touch(self, place: int) -> Touch:
        """The step that it touched as the one of that number, from 0."""
        step = self.steps[place]
        return Touch(step, self._values[place], self._baselines[place], self._spreads[place], self._rows.get(step, ()))

    def touch_at(self, step: int) -> Touch | None:
        """What it did at that very step."""
        place = bisect_right(self.steps, step) - 1
        return self.touch(place) if place >= 0 and self.steps[place] == step else None

    def rewind(self, from_step: int) -> None:
        """Steps after `from_step` are trained anew: go back to what was known then, of which there is something."""
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
            spread=first.spread,
            rows=first.rows,
            last_step=self.steps[-1],
        )

    def _describe_without_step(self, alert: Alert) -> None:
        known = self.incident
        self.incident = replace(
            known,
            value=known.value if alert.value is None else alert.value,
            baseline=known.baseline if alert.baseline is None else alert.baseline,
            spread=known.spread if alert.spread is None else alert.spread,
            rows=alert.rows or known.rows,
        )
