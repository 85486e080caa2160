"""What there is to say about a run at the moment, folded from its events: the newest numbers, and its incidents."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.events import Alert, Audit, Checkpoint, End, Eval, Phase, Resume, Stamped, Start, Step
from engine.health.reader_watch import earlier_death
from engine.incidents import Change, Incident, Incidents

USUAL_STEPS = 128
"""How many of the newest steps say what is usual."""
METRICS = ("loss", "grad_norm", "tok_s", "dt")
"""Whose usual value is told."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something that changed at the moment `t` and that somebody who watches wants to know."""

    t: float
    change: Change | None = None
    incident: Incident | None = None
    alert: Alert | None = None
    words: str = ""
    """What changed where it is no incident."""


@dataclass
class Summary:
    """`take` the events in the order of the log; everything else can be read at any time."""

    step: Step | None = None
    total_steps: int | None = None
    phase: str | None = None
    phase_t: float | None = None
    last_t: float | None = None
    last_step_t: float | None = None
    eval: Eval | None = None
    best: Eval | None = None
    checkpoint: Checkpoint | None = None
    end: End | None = None
    judged: tuple[str, ...] = ()
    skipped: int = 0
    incidents: Incidents = field(default_factory=Incidents)
    _deaths: int = 0
    _is_at_work: bool = False
    """From a process's start on until its end was told."""
    _recent: dict[str, deque[float]] = field(
        default_factory=lambda: {name: deque(maxlen=USUAL_STEPS) for name in METRICS}
    )
    _intervals: deque[float] = field(default_factory=lambda: deque(maxlen=USUAL_STEPS))

    def take(self, stamped: Stamped) -> Iterable[Told]:
        """Take in an event and return what it changed."""
        self.last_t = stamped.t
        event, t = stamped.event, stamped.t
        if isinstance(event, Step):
            self._take_step(event, t)
        elif isinstance(event, Phase):
            return self._take_phase(event, t)
        elif isinstance(event, Alert):
            return self.take_alert(event, t)
        elif isinstance(event, Audit):
            return [Told(t, change, incident) for incident, change in self.incidents.take_audit(event) if change]
        elif isinstance(event, Eval):
            return self._take_eval(event, t)
        elif isinstance(event, Checkpoint):
            self.checkpoint = event
        elif isinstance(event, Start):
            return self._begin(event, t)
        elif isinstance(event, Resume):
            self._go_back(event)
            return [Told(t, words=f"continues after step {event.from_step:,}")]
        elif isinstance(event, End):
            self.end, self._is_at_work = event, False
            over = [Told(t, "closed", incident) for incident in self.incidents.end_with(event)]
            return [*over, Told(t, words=f"{event.status} at step {event.last_step:,}: {event.reason}")]
        return []

    def take_alert(self, alert: Alert, t: float, by_reader: bool = False) -> list[Told]:
        """Take in an alert, of the engine or of whoever reads its log."""
        incident, change = self.incidents.take(alert, self.last_step, by_reader)
        return [Told(t, change, incident, alert)]

    @property
    def last_step(self) -> int | None:
        return self.step.step if self.step else None

    def usual(self, metric: str) -> float | None:
        """The median of the metric's newest finite values."""
        values = self._recent[metric]
        return statistics.median(values) if values else None

    @property
    def usual_interval(self) -> float | None:
        """The usual seconds from step to step, or from line to line, evaluation and saving left out."""
        return statistics.median(self._intervals) if self._intervals else self.usual("dt")

    def _take_step(self, step: Step, t: float) -> None:
        if step.rank != 0:  # what all processes have together, the first one tells
            return
        if self.step is not None and self.last_step_t is not None and step.step > self.step.step:
            self._intervals.append(max(t - self.last_step_t, 0.0))
        self.step, self.last_step_t = step, t
        self.end = None
        self.skipped += step.skipped
        for metric, values in self._recent.items():
            value = getattr(step, metric)
            if value is not None and math.isfinite(value) and not (step.skipped and metric != "dt"):
                values.append(value)

    def _take_phase(self, phase: Phase, t: float) -> list[Told]:
        if phase.name == self.phase:
            return []
        self.phase, self.phase_t, self.end = phase.name, t, None
        return [Told(t, words=phase.name)]

    def _take_eval(self, event: Eval, t: float) -> list[Told]:
        self.eval = event
        lower = self.best is None or event.loss < self.best.loss
        if event.best or (lower and math.isfinite(event.loss)):
            self.best = event
        return [Told(t, words=f"{event.name} {event.loss:.4g} at step {event.step:,}{', the best' * event.best}")]

    def _begin(self, start: Start, t: float) -> list[Told]:
        self.total_steps, self.judged, self.end = start.total_steps, start.judged, None
        self.incidents.start_anew()
        was_at_work, self._is_at_work = self._is_at_work, True
        if not was_at_work:
            return []
        self._deaths += 1
        return self.take_alert(earlier_death(self._deaths, self.last_step), t, by_reader=True)

    def _go_back(self, resume: Resume) -> None:
        self.incidents.rewind(resume.from_step)
        if self.step is not None and self.step.step > resume.from_step:
            self.step = None
        if self.eval is not None and self.eval.step > resume.from_step:
            self.eval = None
        if self.best is not None and self.best.step > resume.from_step:
            self.best = None
