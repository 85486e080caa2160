"""Which part of a run all charts show: the x axis, the window on it, the cursor, and whether it follows. No widgets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor

from pgs_tui.drawing.axes import nice_step
from pgs_tui.history.axis import AxisName

FEWEST_STEPS = 8
"""A window is never narrower than these many steps."""
FINENESS = 16
"""Ends of a window are multiples of a round number of about this part of it, so that few different axes are drawn."""
JUMP = 0.25
"""The part of its width by which a window moves on when it follows, or when the cursor leaves it."""

Window = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Ground:
    """What there is to see along an axis. `positions` ascend, parallel to `steps`; a chart of all ends at `end`."""

    steps: Sequence[int]
    positions: Sequence[float]
    end: float

    def __post_init__(self) -> None:
        assert self.positions and len(self.steps) == len(self.positions), "a ground is made of steps"

    @property
    def whole(self) -> Window:
        """The window on everything."""
        return self.positions[0], self.end

    @property
    def newest(self) -> float:
        """Where the newest step stands."""
        return self.positions[-1]

    def index_of(self, step: int) -> int:
        """The index of the step, or of the next one before it that there is."""
        return max(bisect_right(self.steps, step) - 1, 0)

    def index_near(self, position: float) -> int:
        """The index of the step that stands nearest."""
        after = min(bisect_left(self.positions, position), len(self.positions) - 1)
        before = max(after - 1, 0)
        return before if position - self.positions[before] <= self.positions[after] - position else after

    def narrowest(self, position: float) -> float:
        """How wide the fewest steps are that a window there may show."""
        first = min(max(self.index_near(position) - FEWEST_STEPS // 2, 0), max(len(self.steps) - 1 - FEWEST_STEPS, 0))
        return self.positions[min(first + FEWEST_STEPS, len(self.steps) - 1)] - self.positions[first]


@dataclass(frozen=True, slots=True)
class View:
    """`window` in units of the axis, None for the whole run; `cursor` a step number, which survives a rewind.

    With `follow` a window keeps its width, and moves on with the newest step.
    """

    axis: AxisName = "step"
    window: Window | None = None
    cursor: int | None = None
    follow: bool = True

    def seen(self, ground: Ground) -> Window:
        """The window that is drawn now."""
        if self.window is None:
            return ground.whole
        start, end = self.window
        if not self.follow:
            return start, end
        jump = (end - start) * JUMP
        reached = (floor(ground.newest / jump) + 1) * jump
        return reached - (end - start), reached

    def sees(self, ground: Ground) -> bool:
        """Whether there is anything in its window, which a run that went back may have left."""
        return self.follow or self.window is None or self.window[0] <= ground.newest

    def index(self, ground: Ground) -> int | None:
        """The index of the step under the cursor; of the newest one where its own is gone."""
        return None if self.cursor is None else ground.index_of(self.cursor)

    def zoomed(self, factor: float, ground: Ground) -> View:
        """`factor` times as close around the cursor, else at the newest step that is seen; below 1 farther away."""
        start, end = self.seen(ground)
        index = self.index(ground)
        about = ground.positions[index] if index is not None else min(end, ground.newest)
        width = (end - start) / factor
        if width >= ground.end - ground.positions[0]:
            return replace(self, window=None)
        if (factor > 1 and width < ground.narrowest(about)) or width <= 0:
            return self
        begin = about - (about - start) / factor if index is not None else min(end, ground.newest + width / 8) - width
        return replace(self, window=_within(_snapped(begin, width), ground))

    def panned(self, share: float, ground: Ground) -> View:
        """By this share of the window's width to the right, or to the left when negative."""
        if self.window is None:
            return self
        start, end = self.seen(ground)
        moved = _within(_snapped(start + share * (end - start), end - start), ground)
        return replace(self, window=moved, follow=False)

    def moved(self, columns: int, cells: int, ground: Ground) -> View:
        """The cursor by these many of the chart's `cells`, at least to another step; first to the newest step seen."""
        start, end = self.seen(ground)
        index = self.index(ground)
        if index is None:
            return self.at(ground.steps[max(bisect_left(ground.positions, end) - 1, 0)], ground)
        cell = (end - start) / max(cells, 1)
        column = floor((ground.positions[index] - start) / cell)
        there = ground.index_near(start + (column + columns + 0.5) * cell)
        there = max(there, index + 1) if columns > 0 else min(there, index - 1)
        return self.at(ground.steps[min(max(there, 0), len(ground.steps) - 1)], ground)

    def at(self, step: int, ground: Ground) -> View:
        """The cursor at this step, in a window that shows it and stays where it is."""
        index = ground.index_of(step)
        here = replace(self, cursor=ground.steps[index], follow=False)
        if self.window is None:
            return here
        return replace(here, window=_within(_around(ground.positions[index], *self.seen(ground)), ground))

    def at_start(self, ground: Ground) -> View:
        """The cursor at the first step."""
        return self.at(ground.steps[0], ground)

    def at_end(self) -> View:
        """No cursor: the newest values, and a window follows them."""
        return replace(self, cursor=None, follow=True)

    def all(self) -> View:
        """The whole run."""
        return replace(self, window=None, follow=self.cursor is None)

    def following(self, ground: Ground) -> View:
        """Follow the newest steps, or no longer. Out of the whole run it is their last quarter that is followed."""
        if self.window is not None:
            held = self.follow
            return replace(self, window=self.seen(ground), follow=not held, cursor=self.cursor if held else None)
        start, end = ground.whole
        width = (end - start) * JUMP
        if width < ground.narrowest(ground.newest) or width <= 0:
            return self.at_end()
        return View(self.axis, _snapped(ground.newest - width, width), None, True)

    def on_axis(self, axis: AxisName, before: Ground, after: Ground) -> View:
        """The same steps on another axis."""
        if self.window is None:
            return replace(self, axis=axis)
        start, end = self.seen(before)
        first = min(bisect_left(before.positions, start), len(before.steps) - 1)
        last = max(bisect_left(before.positions, end) - 1, first)
        left, right = after.positions[first], after.positions[last]
        if right <= left:
            return replace(self, axis=axis, window=None)
        step = nice_step((right - left) / FINENESS)
        window = (floor(left / step) * step, (floor(right / step) + 1) * step)
        return replace(self, axis=axis, window=window)


def _snapped(start: float, width: float) -> Window:
    step = nice_step(width / FINENESS)
    begin = round(start / step) * step
    return begin, begin + max(round(width / step), 1) * step


def _within(window: Window, ground: Ground) -> Window:
    """The window, moved so that it shows as much of the ground as it can."""
    start, end = window
    first, last = ground.whole
    if end > last:
        step = nice_step((end - start) / FINENESS)
        back = floor((end - last) / step) * step
        start, end = start - back, end - back
    return (first, first + end - start) if start < first else (start, end)


def _around(position: float, start: float, end: float) -> Window:
    """The window, moved by a part of its width so that it shows the position; centred when that is far outside."""
    width = end - start
    if start <= position < end:
        return start, end
    if -width * JUMP <= position - end < width * JUMP or 0 < start - position <= width * JUMP:
        by = width * JUMP if position >= end else -width * JUMP
        return start + by, end + by
    return _snapped(position - width / 2, width)
