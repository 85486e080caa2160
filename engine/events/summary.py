"""What a list of runs tells of one: folded from its events while it trains, or from its log afterwards.

The same folding makes both, so a list says the same of a run whoever has written its summary.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from engine.events.codec import from_strict_json, to_strict_json
from engine.events.columns import Block, GpuColumns, StepColumns
from engine.events.silences import SHORTEST, is_silence
from engine.events.types import (
    Alert,
    Audit,
    Checkpoint,
    End,
    Eval,
    Event,
    Phase,
    Resume,
    Severity,
    Stamped,
    Start,
    Step,
)

FILE_NAME = "summary.json"
"""In the run's folder."""
MOST_BYTES = 256 * 1024
"""Far more than a summary takes."""
VERSION = 1
BREAK_SECONDS = 60.0
"""A running engine writes an event each second; a longer silence before a new beginning is no time at work."""
MOST_LOWS = 256
PAUSED = "paused"
BEGINNING = "loading model"
"""The phase that every engine process begins with."""
ALERTING: tuple[Severity, ...] = ("warning", "error", "critical")
"""Findings about the data count among the alerts from `warning` on."""

Low = tuple[int, float]
"""A step and its loss."""


@dataclass(slots=True, kw_only=True)
class RunSummary:
    """Losses are those of steps unless they say evaluation; `lows` and `eval_lows` are the records, ever lower.

    `log_bytes` of the log are folded in. `seconds` are those in which an engine was at work, without pauses and
    silences, `tokens` all that went through it, those of steps that a resume has made obsolete too. `step_seconds` is
    how many there were when the newest step was told, None where more was told since, and `step_dt` its own.
    `open_alerts` are incidents by id with the severity that they are counted under.
    """

    v: int = VERSION
    log_bytes: int = 0
    config: str = ""
    model: str = ""
    params: int | None = None
    trainable: int | None = None
    device: str = ""
    total_steps: int | None = None
    step: int | None = None
    loss: float | None = None
    lows: tuple[tuple[int, float], ...] = ()
    eval_step: int | None = None
    eval_loss: float | None = None
    eval_lows: tuple[tuple[int, float], ...] = ()
    alerts: dict[str, int] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)
    open_alerts: dict[str, str] = field(default_factory=dict)
    checkpoint: int | None = None
    phase: str = ""
    tokens: int = 0
    seconds: float = 0.0
    step_seconds: float | None = None
    step_dt: float = 0.0
    first_t: float | None = None
    last_t: float | None = None
    status: str | None = None
    reason: str = ""
    exit_code: int | None = None

    @property
    def best(self) -> Low | None:
        """The lowest loss of an evaluation, else of a step; None without either."""
        return self.best_eval or (self.lows[-1] if self.lows else None)

    @property
    def best_eval(self) -> Low | None:
        """The lowest loss of an evaluation."""
        return self.eval_lows[-1] if self.eval_lows else None

    @property
    def alert_count(self) -> int:
        """Incidents and findings about the data."""
        return sum(self.alerts.values()) + sum(self.findings.values())

    def count(self, severity: Severity) -> int:
        """How many of them are of this severity."""
        return self.alerts.get(severity, 0) + self.findings.get(severity, 0)

    def fold(self, block: Block) -> None:
        """Take in what comes next in the log."""
        match block:
            case Stamped():
                self._pass_time(block.t, block.event)
                self._take(block.event)
            case StepColumns():
                if self.status is not None:
                    self._go_on(block.t[0])
                self._pass_steps(block)
                self._take_steps(block)
            case GpuColumns():  # they stand between steps, whose times say the same
                pass

    def _take(self, event: Event) -> None:
        match event:
            case Start():
                self.config, self.model, self.device = event.config, event.model.name, event.device
                self.params, self.trainable = event.model.params, event.model.trainable
                self.total_steps = event.total_steps
            case Step():
                if event.rank == 0:
                    self._take_step(event.step, event.loss, event.tokens, event.skipped)
            case Eval():
                self.eval_step, self.eval_loss = event.step, event.loss
                self.eval_lows = _with(self.eval_lows, event.step, event.loss)
            case Alert():
                self._take_alert(event)
            case Audit():
                told = [flag.severity for flag in event.flags if flag.severity in ALERTING]
                self.findings = {severity: told.count(severity) for severity in ALERTING if severity in told}
            case Checkpoint():
                self.checkpoint = event.step
            case Resume():
                self._rewind(event.from_step)
            case Phase():
                self.phase = event.name
            case End():
                self.status, self.reason, self.exit_code = event.status, event.reason, event.exit_code

    def _take_steps(self, steps: StepColumns) -> None:
        losses, tokens, skipped = (steps.values[name] for name in ("loss", "tokens", "skipped"))
        measured_nan = set(steps.nan_at.get("loss", ()))
        for place, number in enumerate(steps.step):
            loss = losses[place]
            known = loss == loss or place in measured_nan
            self._take_step(number, loss if known else None, int(tokens[place]), bool(skipped[place]))

    def _take_step(self, number: int, loss: float | None, tokens: int, skipped: bool) -> None:
        if self.step is not None and number <= self.step:
            self._rewind(number - 1)
        self.step, self.loss = number, loss
        self.tokens += tokens
        if loss is not None and not skipped and (not self.lows or loss < self.lows[-1][1]) and math.isfinite(loss):
            self.lows = _with(self.lows, number, loss)

    def _rewind(self, from_step: int) -> None:
        """What came after that step is written anew."""
        self.lows = _upto(self.lows, from_step)
        self.eval_lows = _upto(self.eval_lows, from_step)
        if self.step is not None and self.step > from_step:
            self.step, self.loss = from_step, None

    def _take_alert(self, event: Alert) -> None:
        counted = self.open_alerts.get(event.id)
        if counted != event.severity:
            if counted is not None:
                self.alerts[counted] -= 1
            self.alerts[event.severity] = self.alerts.get(event.severity, 0) + 1
        if event.state == "closed":
            self.open_alerts.pop(event.id, None)
        else:
            self.open_alerts[event.id] = event.severity

    def _pass_time(self, t: float, event: Event) -> None:
        begins = isinstance(event, Phase) and event.name == BEGINNING and event.progress is None
        if self.last_t is not None and begins and t - self.last_t > BREAK_SECONDS:
            self.last_t = t
        if self.status is not None and isinstance(event, Phase | Start | Resume | Step):
            self._go_on(t)
        self._pass_to(t)
        match event:
            case Step(rank=0):
                self._stand_at_step(event.dt)
            case Eval() | Checkpoint() | Phase() | Start() | Resume() | End():  # they say what took so long
                self.step_seconds = None

    def _pass_steps(self, steps: StepColumns) -> None:
        """Each for itself only where there may be a silence between two of them."""
        dt = steps.values["dt"]
        self._pass_to(steps.t[0])
        self._stand_at_step(dt[0])
        if all(after - one <= SHORTEST for one, after in pairwise(steps.t)):
            self._pass_to(steps.t[-1])
            self.step_seconds = None
            self._stand_at_step(dt[-1])
            return
        for place in range(1, len(steps)):
            self._pass_to(steps.t[place])
            self._stand_at_step(dt[place])

    def _stand_at_step(self, dt: float) -> None:
        """A step is told, which took `dt`. What came before it is no time at work where it was a silence."""
        if self.step_seconds is not None and is_silence(self.seconds - self.step_seconds, self.step_dt):
            self.seconds = self.step_seconds + self.step_dt
        self.step_seconds, self.step_dt = self.seconds, dt if math.isfinite(dt) else 0.0

    def _go_on(self, t: float) -> None:
        """It has ended before; the time until now was none at work."""
        self.status, self.reason, self.exit_code, self.last_t = None, "", None, t

    def _pass_to(self, t: float) -> None:
        if self.last_t is None or self.first_t is None:
            self.first_t = self.last_t = t
        elif t > self.last_t:
            is_at_work = self.status is None and self.phase != PAUSED
            self.seconds += t - self.last_t if is_at_work else 0.0
            self.last_t = t


def _with(lows: tuple[Low, ...], step: int, loss: float) -> tuple[Low, ...]:
    """The records with this one, if it is one; where there are very many, every second of the older ones goes."""
    if not math.isfinite(loss) or (lows and loss >= lows[-1][1]):
        return lows
    kept = lows if len(lows) < MOST_LOWS else (*lows[: MOST_LOWS // 2 : 2], *lows[MOST_LOWS // 2 :])
    return (*kept, (step, loss))


def _upto(lows: tuple[Low, ...], step: int) -> tuple[Low, ...]:
    return tuple([low for low in lows if low[0] <= step])


def summary_text(summary: RunSummary) -> str:
    """`summary.json`: one line of strict JSON."""
    return json.dumps(to_strict_json(summary), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def summary_of_text(text: str | bytes) -> RunSummary | None:
    """The summary that the text is; None for anything else, such as one of a later version."""
    try:
        record: Any = json.loads(text)
        summary = from_strict_json(RunSummary, record)
    except (ValueError, RecursionError):
        return None
    return summary if summary.v == VERSION and summary.log_bytes >= 0 else None
