"""Columns of values as paths of SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgs_tui.drawing.axes import Limits
from pgs_tui.history.series import Columns

Spot = tuple[float, float, float]
"""Where a column stands, and the heights of its lowest and its highest value, in pixels."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The plot's rectangle in pixels, the part of the x axis that it shows, and the values at its foot and top."""

    left: float
    top: float
    right: float
    bottom: float
    start: float
    end: float
    limits: Limits

    def shows(self, position: float) -> bool:
        """Whether the position lies within the plot."""
        return self.start <= position <= self.end

    def x(self, position: float) -> float:
        """Pixels of a position on the x axis."""
        share = (position - self.start) / ((self.end - self.start) or 1.0)
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Pixels of a value; far outside the limits it stands just outside the plot."""
        return self.y_of_place(self.limits.place(value))

    def y_of_place(self, place: float) -> float:
        """Pixels of a place, 0 at the foot and 1 at the top."""
        return self.bottom - min(max(place, -0.2), 1.2) * (self.bottom - self.top)


def band(columns: Columns, ground: Ground) -> str:
    """The area between the lowest and the highest value of each column, broken where a value is not finite."""
    parts = []
    for run in _runs(columns, ground):
        over = " ".join(f"{x:.1f},{high:.1f}" for x, _, high in run)
        back = " ".join(f"{x:.1f},{low:.1f}" for x, low, _ in reversed(run))
        parts.append(f"M{over} L{back} Z")
    return " ".join(parts)


def middle(columns: Columns, ground: Ground) -> str:
    """A line through the middle of each column."""
    runs = _runs(columns, ground)
    return " ".join("M" + " ".join(f"{x:.1f},{(low + high) / 2:.1f}" for x, low, high in run) for run in runs)


def outside(columns: Columns, ground: Ground) -> Iterator[tuple[float, bool]]:
    """Where values leave the plot, once for columns side by side: pixels, and True for above."""
    width = (columns.end - columns.start) / max(len(columns.low), 1)
    before: tuple[int, bool] | None = None
    for place, (low, high) in enumerate(zip(columns.low, columns.high, strict=True)):
        is_above = low <= high and ground.limits.place(high) > 1
        if not is_above and (low > high or ground.limits.place(low) >= 0):
            continue
        if before is None or place > before[0] + 1 or is_above != before[1]:
            yield ground.x(columns.start + (place + 0.5) * width), is_above
        before = place, is_above


def _runs(columns: Columns, ground: Ground) -> Iterator[list[Spot]]:
    """Columns with values that belong together, from left to right."""
    width = (columns.end - columns.start) / max(len(columns.low), 1)
    run: list[Spot] = []
    for place, (low, high) in enumerate(zip(columns.low, columns.high, strict=True)):
        if place in columns.marks and run:
            yield run
            run = []
        if low <= high:
            run.append((ground.x(columns.start + (place + 0.5) * width), ground.y(low), ground.y(high)))
    if run:
        yield run
