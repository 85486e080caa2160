"""What a chart shows, as data: curves that were already reduced to columns, and what stands over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pgs_tui.drawing.lines import Role
from pgs_tui.history.series import Columns

Point = tuple[float, float]
"""Position on the x axis and value."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that happened at a step: a mark in the top row, with its label where there is room."""

    step: float
    label: str
    role: Role = "warn"


class ChartMark(NamedTuple):
    """A sign in the top row at a position of the x axis. A tuple, since charts compare all of theirs at each update.

    `kind` is one of spike, nan, skipped, checkpoint, eval, best, resume, stalled; each has a sign of its own, so that
    none needs a colour. Others get a plain one. `severity` is that of an alert, or info.
    """

    x: float
    kind: str
    severity: str = "info"
    label: str = ""


@dataclass(frozen=True, slots=True)
class Other:
    """A further curve, such as that of another run. Its `sign`, one cell, stands on it here and there: a name without
    a colour.
    """

    columns: Columns
    role: Role
    name: str = ""
    sign: str = ""


@dataclass(frozen=True, slots=True)
class Curves:
    """The raw values, the smoothed line over them, single points, and what is marked.

    `raw`, `smooth` and `others` have the same columns over the same part of the x axis, in whose unit every position
    here is.
    """

    raw: Columns
    smooth: Columns | None = None
    points: tuple[Point, ...] = ()
    flags: tuple[Flag, ...] = ()
    marks: tuple[ChartMark, ...] = ()
    cursor: float | None = None
    """Where the cursor stands on the x axis."""
    reference: float | None = None
    """A value drawn as a line from left to right, such as what was estimated. It does not widen the limits."""
    labels: Callable[[float], str] | None = None
    """Words for a position on the x axis; without it they are whole numbers."""
    others: tuple[Other, ...] = ()
    """Further curves, drawn below `raw`, each over those before it."""
