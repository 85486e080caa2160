"""What is kept of every step: parallel rows, one place in each for every step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from engine.events import Step
from engine.events.columns import StepColumns
from pgs_tui.history.axis import Axes
from pgs_tui.history.offsets import Offsets
from pgs_tui.history.rewinding import Superseded
from pgs_tui.history.series import Precision, Series
from pgs_tui.history.smoothing import Smoothed
from pgs_tui.history.step_parts import StepParts

METRICS: dict[str, tuple[Precision, Callable[[Step], float | None]]] = {
    "loss": ("d", lambda step: step.loss),
    "grad_norm": ("f", lambda step: step.grad_norm),
    "hidden_norm": ("f", lambda step: step.hidden_norm),
    "tok_s": ("f", lambda step: _told(step.tok_s)),
    "dt": ("f", lambda step: _told(step.dt)),
    "lr": ("f", lambda step: _told(step.lr)),
    "moved": ("f", lambda step: step.moved),
    "mem.peak": ("f", lambda step: step.mem.peak),
}
"""The metrics of a step by name: how exactly each is kept, and where it stands in the event."""
NEVER_NAN = ("tok_s", "dt", "lr")
"""A step that does not tell one of these, as in logs of other tools, has NaN there; none of them is measured as NaN."""


class StepTable:
    """Grows by `append` and `extend`, whose steps must ascend; `rewind` takes back."""

    def __init__(self) -> None:
        self.axes = Axes()
        self.series = {name: Series(precision) for name, (precision, _) in METRICS.items()}
        self.parts = StepParts()
        self.offsets = Offsets()
        self._smoothed: dict[str, Smoothed] = {}

    def __len__(self) -> int:
        return len(self.axes)

    def append(self, step: Step, t: float, offset: int) -> None:
        """Add a step; `offset` is the first byte of its line in the log, below 0 where that is not known."""
        self.axes.append(step.step, step.tokens, t, step.epoch)
        for name, (_, read) in METRICS.items():
            self.series[name].append(read(step))
        self.parts.append(step)
        self.offsets.append(offset)

    def extend(self, block: StepColumns) -> None:
        """Add many steps."""
        self.axes.extend(block.step, block.values["tokens"], block.t, block.values["epoch"])
        for name, series in self.series.items():
            series.extend(block.values[name], block.nan_at.get(name, ()) if name not in NEVER_NAN else ())
        self.parts.extend(block.values)
        self.offsets.extend(block.offset)

    def rewind(self, from_step: int, retold: bool = False) -> Superseded | None:
        """Take out the steps after `from_step`, which others will replace; None where there are none.

        With `retold` it is the very same steps that come again.
        """
        steps = self.axes.steps
        keep = bisect_right(steps, from_step)
        self.parts.truncate(keep, from_step)
        if keep == len(steps):
            return None
        aside = Superseded(from_step, steps[keep:], {name: one.values[keep:] for name, one in self.series.items()})
        self.axes.truncate(keep, retold)
        self.offsets.truncate(keep)
        for series in self.series.values():
            series.truncate(keep)
        for smoothed in self._smoothed.values():
            smoothed.truncate(keep)
        return aside

    def smoothed(self, metric: str, alpha: float) -> Smoothed:
        """The metric's average with that constant. Only the one asked for last is kept."""
        smoothed = self._smoothed.get(metric)
        if smoothed is None or smoothed.alpha != alpha:
            smoothed = self._smoothed[metric] = Smoothed(self.series[metric], alpha)
        return smoothed.follow()

    def keep_averages_of(self, other: StepTable) -> None:
        """Keep the averages that another table was asked for, so that they stand when somebody asks for them here."""
        for metric, smoothed in other._smoothed.items():
            self.smoothed(metric, smoothed.alpha)

    def newest_average(self, metric: str) -> float | None:
        """The newest value of the average that was asked for last."""
        smoothed = self._smoothed.get(metric)
        return smoothed.last if smoothed else None

    def averages(self, index: int) -> dict[str, float | None]:
        """The averages at an index, of the metrics whose average was asked for."""
        return {metric: smoothed.follow().at(index) for metric, smoothed in self._smoothed.items()}

    def not_finite(self, metric: str, begin: int) -> Iterator[int]:
        """The numbers of the steps from index `begin` on where the metric was measured but is not finite."""
        marks = self.series[metric].marks
        return (self.axes.steps[index] for index in marks[bisect_right(marks, begin - 1) :])


def _told(value: float) -> float | None:
    return value if value == value else None
