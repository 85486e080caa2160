"""A comparison as a person looks at it: along which axis, which metric, measured against which run, at which place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from pgs_tui.comparing.aligned import ALIGNED, CommonGround, average_of, common_ground, farthest
from pgs_tui.comparing.compared import Compared, compared
from pgs_tui.comparing.curves import curves_of
from pgs_tui.comparing.table import Told, measured, told_of
from pgs_tui.drawing.curves import Curves
from pgs_tui.history.axis import AxisName
from pgs_tui.history.history import History
from pgs_tui.runs.follow import Update
from pgs_tui.view import View, Window
from screens.dashboard.live import LiveRun

SMOOTHING = 0.98
"""The constant of the average that is drawn unless raw values are wanted: several raw curves would hide each other."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a comparison is drawn. `base` and `front` are places of runs: measured against, and drawn over all."""

    metric: str = "loss"
    alpha: float | None = SMOOTHING
    log: bool = False
    base: int = 0
    front: int = 0
    hidden: frozenset[int] = frozenset()


class Comparison:
    """Change `view` and `shown`; the rest can be asked at any time."""

    def __init__(self, lives: Sequence[LiveRun]) -> None:
        """The first of the runs is what all are measured against."""
        self.runs = compared(lives)
        self.view = View()
        self.shown = Shown()
        self._measure: History | None = None
        self._heard: set[int] = set()

    def take(self, place: int, update: Update) -> None:
        """Take in news of one of the runs."""
        self.runs[place].live.take(update)
        is_connecting = update.link is not None and update.link.state == "connecting"
        if place not in self._heard and not is_connecting:
            self._heard.add(place)
            self.runs = compared([run.live for run in self.runs])  # of a run elsewhere its name is known by now

    @property
    def is_heard(self) -> bool:
        """Whether something is known of each run."""
        return len(self._heard) == len(self.runs)

    @property
    def loading(self) -> int:
        """How many of the logs have not been read yet."""
        return sum(place not in self._heard or run.live.loading for place, run in enumerate(self.runs))

    @property
    def base(self) -> Compared:
        """The run that all are measured against."""
        return self.runs[self.shown.base]

    @property
    def drawn(self) -> tuple[Compared, ...]:
        """The runs with a curve, that over all others first."""
        kept = [place for place in range(len(self.runs)) if place not in self.shown.hidden]
        return tuple(self.runs[place] for place in sorted(kept, key=lambda place: place != self.shown.front))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that there is something to see of."""
        return measured(self.runs)

    @property
    def ground(self) -> CommonGround | None:
        """What there is to see along the axis; None before the first step of all runs that are drawn."""
        histories = [run.history for run in self.drawn]
        self._measure_by(farthest(histories, self.view.axis))
        return common_ground(histories, self.view.axis)

    @property
    def window(self) -> Window | None:
        """The part of the axis that is seen."""
        ground = self.ground
        return self.view.seen(ground) if ground is not None else None

    @property
    def cursor(self) -> float | None:
        """Where the cursor stands on the axis."""
        ground = self.ground
        index = self.view.index(ground) if ground is not None else None
        return ground.positions[index] if ground is not None and index is not None else None

    def on_axis(self, axis: AxisName) -> None:
        """Lay the runs over each other along another axis; the step under the cursor stays there."""
        measure, cursor = self._measure, self.view.cursor
        self.view = View(axis, cursor=cursor, follow=cursor is None)
        after = farthest([run.history for run in self.drawn], axis)
        if measure is not None and after is not None and after is not measure and cursor is not None:
            position = measure.position_of(cursor, axis)
            near = after.index_near(position, axis) if position is not None else None
            self.view = replace(self.view, cursor=after.steps[near] if near is not None else None)
        self._measure = after

    def next_axis(self) -> AxisName:
        """The axis after this one."""
        return ALIGNED[(ALIGNED.index(self.view.axis) + 1) % len(ALIGNED)]

    def curves(self, metric: str) -> Callable[[int], Curves] | None:
        """Reduces the metric of all drawn runs to columns; None before the first step."""
        window = self.window
        if window is None:
            return None
        return curves_of(self.drawn, metric, self.view.axis, window, self.shown.alpha, self.cursor)

    def told(self, run: Compared, metric: str) -> Told:
        """What is told of a metric of one of the runs: at the cursor, else now."""
        return told_of(run, self.base, metric, self.view.axis, self.cursor, self.shown.alpha)

    def is_averaged(self, metric: str) -> bool:
        """Whether an average of it is drawn."""
        return average_of(metric, self.shown.alpha) is not None

    def hide(self, places: Collection[int]) -> None:
        """Draw all runs but these; one of them at least is drawn."""
        assert len(places) < len(self.runs), "a comparison shows something"
        self.shown = replace(self.shown, hidden=frozenset(places))

    def _measure_by(self, longest: History | None) -> None:
        """Another run reaches farthest now: the cursor stays where it is on the axis."""
        before, self._measure = self._measure, longest
        cursor = self.view.cursor
        if before is None or longest is None or before is longest or cursor is None or not before.steps:
            return
        position = before.position_of(cursor, self.view.axis)
        near = longest.index_near(position, self.view.axis) if position is not None else None
        self.view = replace(self.view, cursor=longest.steps[near] if near is not None else None)
