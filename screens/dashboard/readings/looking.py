"""How a person looks at a run: what of it, along which axis, how smooth, at which step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import floor, isfinite, log10
from typing import TYPE_CHECKING

from pgs_tui.drawing.axes import nice_end
from pgs_tui.drawing.plot_frame import Sight
from pgs_tui.drawing.ticks import XAxis
from pgs_tui.format import duration, whole
from pgs_tui.history.at_step import At
from pgs_tui.history.axis import AxisName
from pgs_tui.history.history import History
from pgs_tui.view import Ground, View, Window

if TYPE_CHECKING:  # what the first charts do not need is imported after them
    from pgs_tui.comparing.baseline import Baseline

AXIS_WORDS: dict[AxisName, str] = {
    "step": "steps",
    "tokens": "tokens trained on",
    "time": "time, without what lies between two processes",
    "epoch": "epochs",
}
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
ENDS = (1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""A chart of everything ends at one of these, times a power of ten, so that its axis seldom changes."""
WIDE = 40.0
"""Seconds; what is as wide, and wider, is labelled in whole ones."""


@dataclass(frozen=True, slots=True)
class Looking:
    """`ground` is None before the first step, and then there is nothing at the cursor either."""

    view: View
    alpha: float | None = None
    """The constant of the average that is drawn over the raw values."""
    ground: Ground | None = None
    at: At | None = None
    """What is known of the step under the cursor."""
    baseline: Baseline | None = None
    """The run below the curves."""

    @property
    def window(self) -> Window | None:
        """What part of the axis is drawn."""
        return self.view.seen(self.ground) if self.ground is not None else None

    @property
    def cursor(self) -> float | None:
        """Where the cursor stands on the axis."""
        if self.ground is None or self.at is None:
            return None
        return self.ground.positions[self.at.index]

    @property
    def sight(self) -> Sight | None:
        """The same for panels that draw over the axis themselves."""
        if self.window is None:
            return None
        return Sight(XAxis(*self.window, label_of(self.view.axis, self.window)), self.cursor)


def looking_at(history: History, view: View, alpha: float | None, read: bool) -> Looking:
    """How the view looks at the run as it is now; with `read` the step under the cursor is read back from the log.

    An average is left out until it has the steps to mean something: before that it would only lag behind.
    """
    ground = ground_of(history, view.axis)
    if ground is None:
        return Looking(view)
    if alpha and len(ground.steps) * (1 - alpha) < 1:
        alpha = None
    index = view.index(ground)
    return Looking(view, alpha, ground, history.at(ground.steps[index], read) if index is not None else None)


def ground_of(history: History, axis: AxisName) -> Ground | None:
    """What there is to see of the run along the axis; None before the first step."""
    if not history.steps:
        return None
    positions = history.positions(axis)
    if axis == "step":
        end = float(max(nice_end(history.steps[-1], history.total_steps), history.steps[0]) + 1)
    else:
        end = _next_end(positions[-1])
    return Ground(history.steps, positions, end)


def _next_end(last: float) -> float:
    if not isfinite(last) or last <= 0:
        return 1.0
    power = 10.0 ** floor(log10(last))
    return next(factor * power for factor in (*ENDS, 20) if factor * power > last)


def label_of(axis: AxisName, window: Window) -> Callable[[float], str] | None:
    """How positions on the axis are written; None for step numbers. The same window has the same one."""
    width = window[1] - window[0]
    match axis:
        case "step":
            return None
        case "tokens":
            return _amount
        case "time":
            return _clock(min(max(-floor(log10(width / WIDE)), 0), 6) if width > 0 else 0)
        case "epoch":
            return _decimals(min(max(2 - floor(log10(width)) if width > 0 else 2, 0), 6))


def position_words(axis: AxisName, position: float) -> str:
    """A position on the axis, closely."""
    match axis:
        case "step":
            return whole(position)
        case "tokens":
            return whole(position)
        case "time":
            return duration(position)
        case "epoch":
            return f"{position:.3f}"


def _amount(number: float) -> str:
    size, unit = next(((size, unit) for size, unit in UNITS if number >= size), (1.0, ""))
    return f"{number / size:.3g}{unit}" if unit else whole(number)


@lru_cache(maxsize=8)
def _clock(decimals: int) -> Callable[[float], str]:
    """Seconds below a minute have so many decimals at most."""

    def words(seconds: float) -> str:
        rounded = round(seconds, decimals)
        if rounded < 60:
            return f"{rounded:g} s"
        return duration(rounded).replace(" 00 s", "").replace(" 00 m", "")

    return words


@lru_cache(maxsize=8)
def _decimals(count: int) -> Callable[[float], str]:
    return lambda number: f"{number:.{count}f}"
