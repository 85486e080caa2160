"""Incidents: what holds for several steps is one alert that opens, goes on and closes, not one alert a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from engine.events.types import Alert, AlertState, Scalar
from engine.health.advice import NO_FACTS, advise
from engine.health.symptom import Facts
from engine.health.symptoms import SYMPTOMS

NO_WORDS: Mapping[str, str] = {}
NUMBERS = ("value", "baseline", "spread")


@dataclass(slots=True)
class _Incident:
    first_step: int
    last_step: int
    count: int
    meaning: str
    value: float | None
    baseline: float | None
    rows: tuple[int, ...]
    measured: str | None = None
    spread: float | None = None
    facts: Facts = field(default_factory=dict)
    quiet: int = 0
    """Steps without it since it held last, of those that linger."""
    in_a_row: int = 1
    longest_row: int = 1

    def goes_on_at(self, step: int) -> None:
        """It holds at one more step, which begins a new row where it was quiet between."""
        self.in_a_row = 1 if self.quiet else self.in_a_row + 1
        self.longest_row = max(self.longest_row, self.in_a_row)
        self.last_step, self.count, self.quiet = step, self.count + 1, 0


class IncidentLog:
    """The open incidents, one at most for each code of the symptom table."""

    def __init__(self, settings: Mapping[str, Scalar]) -> None:
        self._settings = settings
        self._open: dict[str, _Incident] = {}

    def touch(
        self,
        code: str,
        step: int,
        *,
        value: float | None = None,
        baseline: float | None = None,
        spread: float | None = None,
        rows: tuple[int, ...] = (),
        measured: str | None = None,
        facts: Facts = NO_FACTS,
        words: Mapping[str, str] = NO_WORDS,
        **details: str,
    ) -> Alert:
        """Say that `code` holds at this step: opens the incident, or updates it.

        Details and `words` fill in the meaning, in which value, baseline and spread stand as `show` has them unless
        `words` do. `measured` names the field of a step that they belong to; `facts` are what the advice needs.
        """
        shown = {"value": show(value), "baseline": show(baseline), "spread": show(spread)}
        meaning = SYMPTOMS[code].meaning.format(**(shown | details | dict(words)))
        known = self._open.get(code)
        if known is None:
            self._open[code] = incident = _Incident(
                step, step, 1, meaning, value, baseline, rows, measured, spread, dict(facts)
            )
            return self._alert(code, incident, "open")
        known.goes_on_at(step)
        known.meaning, known.value, known.rows, known.measured = meaning, value, rows, measured
        if baseline is not None:
            known.baseline, known.spread = baseline, spread
        known.facts = dict(facts)
        return self._alert(code, known, "update")

    def clear(self, code: str, at_once: bool = False) -> Alert | None:
        """Say that `code` does not hold at this step: closes its incident if there is one.

        One that lingers closes after so many such steps, or `at_once`.
        """
        incident = self._open.get(code)
        if incident is None:
            return None
        incident.quiet += 1
        if incident.quiet < SYMPTOMS[code].lingers and not at_once:
            return None
        del self._open[code]
        steps = "1 step" if incident.count == 1 else f"{incident.count} steps"
        incident.meaning = f"{incident.meaning}; {SYMPTOMS[code].ending.format(steps=steps)}"
        return self._alert(code, incident, "closed")

    def clear_all(self, *codes: str) -> list[Alert]:
        """Say that none of these codes holds at this step: closes their incidents."""
        if not self._open or self._open.keys().isdisjoint(codes):
            return []
        closed = (self.clear(code) for code in codes)
        return [alert for alert in closed if alert is not None]

    @property
    def is_quiet(self) -> bool:
        """Whether no incident is open."""
        return not self._open

    def is_open(self, code: str) -> bool:
        return code in self._open

    def state_dict(self) -> dict[str, Any]:
        """Return the open incidents for JSON; values may not be finite, so they are written as text."""
        return {
            code: asdict(incident) | {name: _as_text(getattr(incident, name)) for name in NUMBERS}
            for code, incident in self._open.items()
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._open = {
            code: _Incident(
                first_step=saved["first_step"],
                last_step=saved["last_step"],
                count=saved["count"],
                meaning=saved["meaning"],
                value=_from_text(saved["value"]),
                baseline=_from_text(saved["baseline"]),
                rows=tuple(saved["rows"]),
                measured=saved["measured"],
                spread=_from_text(saved.get("spread")),  # checkpoints of earlier versions have none
                facts=saved.get("facts", {}),  # nor these
                quiet=saved.get("quiet", 0),
                in_a_row=saved.get("in_a_row", saved["count"]),
                longest_row=saved.get("longest_row", saved["count"]),
            )
            for code, saved in state.items()
        }

    def _alert(self, code: str, incident: _Incident, state: AlertState) -> Alert:
        return Alert(
            id=f"{code.lower()}-{incident.first_step}",
            state=state,
            code=code,
            severity=SYMPTOMS[code].severity_after(incident.longest_row),
            meaning=incident.meaning,
            step=incident.last_step,
            metric=incident.measured,
            value=incident.value,
            baseline=incident.baseline,
            spread=incident.spread,
            count=incident.count,
            advice=advise(code, self._settings, incident.facts),
            rows=incident.rows,
        )


def show(value: float | None) -> str:
    """Return a number as alerts show it, with three significant digits."""
    return "unknown" if value is None else f"{value:.3g}"


def _as_text(value: float | None) -> str | None:
    return None if value is None else str(value)


def _from_text(text: str | None) -> float | None:
    return None if text is None else float(text)
