"""A run's whole past and present, folded from its events."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite

from engine.events import (
    Ack,
    Alert,
    Audit,
    Checkpoint,
    End,
    Estimate,
    Eval,
    Event,
    Gpu,
    Host,
    Phase,
    Resume,
    Stamped,
    Start,
    Step,
)
from pgs_tui.runs.incidents import Incidents
from pgs_tui.runs.series import Columns, Reducer, Series

RECENT_STEPS = 200
"""How many of the newest steps speak for the present: their rate, their time split, their usual values."""

METRICS: dict[str, Callable[[Step], float | None]] = {
    "loss": lambda step: step.loss,
    "grad_norm": lambda step: step.grad_norm,
    "tok_s": lambda step: step.tok_s,
    "dt": lambda step: step.dt,
    "lr": lambda step: step.lr,
    "epoch": lambda step: step.epoch,
    "moved": lambda step: step.moved,
}
"""What is kept of every step."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """Steps that a resume from an earlier checkpoint made obsolete: kept, but no part of any curve."""

    resumed_from: int
    steps: array[int]
    values: dict[str, array[float]]


class History:
    """Fold batches of events with `fold`; read the attributes and `columns`. `version` grows with every event."""

    def __init__(self) -> None:
        self.version = 0
        self.steps: array[int] = array("q")
        self.series = {name: Series() for name in METRICS}
        self.superseded: list[Superseded] = []
        self.recent: deque[tuple[float, Step]] = deque(maxlen=RECENT_STEPS)
        self.incidents = Incidents()
        self.evals: dict[tuple[int, str], Eval] = {}
        self.best: Eval | None = None
        self.gpus: dict[int, Gpu] = {}
        self.acks: dict[str, Ack] = {}
        self.start: Start | None = None
        self.phase: Phase | None = None
        self.host: Host | None = None
        self.estimate: Estimate | None = None
        """What the GPU's memory was expected to come to; None for runs on the CPU."""
        self.checkpoint: Checkpoint | None = None
        self.end: End | None = None
        self.last_t: float | None = None
        self.peak: float | None = None
        """The highest memory peak of any step, GiB."""
        self.tokens = 0
        """Real tokens trained on; steps that a resume replaced do not count."""
        self._tokens_at: array[int] = array("q")
        self._reducers: dict[str, Reducer] = {}
        self._smoothed: dict[str, _Smoothed] = {}

    @property
    def last_step(self) -> int | None:
        """The number of the newest step, None before the first."""
        return self.steps[-1] if self.steps else None

    @property
    def step(self) -> Step | None:
        """The newest step."""
        return self.recent[-1][1] if self.recent else None

    @property
    def total_steps(self) -> int | None:
        """How many steps the run will take, where that is known."""
        return self.start.total_steps if self.start else None

    def fold(self, events: Iterable[Stamped]) -> None:
        """Take in what happened, in the order of the log."""
        for stamped in events:
            self.version += 1
            self.last_t = stamped.t
            self._take(stamped.event, stamped.t)

    def columns(self, metric: str, start: float, end: float, count: int) -> Columns:
        """The metric's steps in [start, end) as `count` columns of lowest and highest value."""
        return self._reduce(metric, self.series[metric], start, end, count)

    def smooth_columns(self, metric: str, alpha: float, start: float, end: float, count: int) -> Columns:
        """Like `columns`, of the exponential moving average `alpha * old + (1 - alpha) * new`.

        The average's bias at the start is taken out.
        """
        smoothed = self._smoothed.get(metric)
        if smoothed is None or smoothed.alpha != alpha:
            smoothed = self._smoothed[metric] = _Smoothed(alpha)
        series = smoothed.follow(self.series[metric])
        return self._reduce(f"{metric} smoothed", series, start, end, count)

    def smoothed(self, metric: str) -> float | None:
        """The newest value of the average that `smooth_columns` drew last."""
        smoothed = self._smoothed.get(metric)
        return smoothed.series.last if smoothed else None

    def recent_values(self, metric: str, count: int = 1000) -> list[float]:
        """The finite ones of the metric's newest `count` values."""
        return self.series[metric].finite(-count)

    def seconds_per_step(self) -> float | None:
        """Wall time per step over the recent steps, evaluation and saving included; None before two steps."""
        if len(self.recent) < 2:
            return None
        (first_t, first), (last_t, last) = self.recent[0], self.recent[-1]
        steps = last.step - first.step
        return (last_t - first_t) / steps if steps > 0 and last_t > first_t else None

    def remaining_seconds(self) -> float | None:
        """Time until the last step at the present rate, None while that cannot be said."""
        rate, total, last = self.seconds_per_step(), self.total_steps, self.last_step
        if rate is None or total is None or last is None or self.end is not None:
            return None
        return max(total - last, 0) * rate

    def _reduce(self, name: str, series: Series, start: float, end: float, count: int) -> Columns:
        reducer = self._reducers.setdefault(name, Reducer())
        return reducer.reduce(self.steps, series, start, end, count)

    def _take(self, event: Event, t: float) -> None:
        match event:
            case Step():
                self._take_step(event, t)
            case Resume():
                self._rewind(event.from_step)
                self.end = None
            case Alert():
                self.incidents.take(event)
            case Audit():
                self.incidents.take_audit(event)
            case Estimate():
                self.estimate = event
            case Eval():
                self._take_eval(event)
            case Gpu():
                self.gpus[event.index] = event
            case Host():
                self.host = event
            case Phase():
                self.phase = event
            case Start():
                self.start, self.end, self.estimate = event, None, None
            case Checkpoint():
                self.checkpoint = event
            case Ack():
                self.acks[event.id] = event
            case End():
                self.end = event

    def _take_step(self, step: Step, t: float) -> None:
        if step.rank != 0:
            return
        if self.steps and step.step <= self.steps[-1]:
            self._rewind(step.step - 1)
        self.steps.append(step.step)
        for name, read in METRICS.items():
            self.series[name].append(read(step))
        self.tokens += step.tokens
        self._tokens_at.append(self.tokens)
        self.recent.append((t, step))
        if step.mem.peak is not None and isfinite(step.mem.peak):
            self.peak = max(self.peak or 0.0, step.mem.peak)

    def _take_eval(self, event: Eval) -> None:
        self.evals[event.step, event.name] = event
        if event.best:
            self.best = event

    def _rewind(self, from_step: int) -> None:
        """Put aside the steps after `from_step`; what comes next replaces them."""
        keep = bisect_right(self.steps, from_step)
        if keep < len(self.steps):
            values = {name: series.values[keep:] for name, series in self.series.items()}
            self.superseded.append(Superseded(from_step, self.steps[keep:], values))
        del self.steps[keep:]
        del self._tokens_at[keep:]
        for series in self.series.values():
            series.truncate(keep)
        self.tokens = self._tokens_at[-1] if self._tokens_at else 0
        self.recent.clear()
        self.evals = {key: event for key, event in self.evals.items() if event.step <= from_step}
        if self.best and self.best.step > from_step:
            self.best = min(self.evals.values(), key=lambda event: event.loss, default=None)


class _Smoothed:
    """The exponential moving average of a series, extended as the series grows.

    Values that are not finite are passed over.
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.series = Series()
        self._generation = 0
        self._mean = 0.0
        self._weight = 0.0

    def follow(self, raw: Series) -> Series:
        if raw.generation != self._generation:
            self.series, self._generation, self._mean, self._weight = Series(), raw.generation, 0.0, 0.0
        for value in raw.values[len(self.series) :]:
            if isfinite(value):
                self._mean = self.alpha * self._mean + (1 - self.alpha) * value
                self._weight = self.alpha * self._weight + (1 - self.alpha)
            self.series.append(self._mean / self._weight if self._weight else None)
        return self.series
