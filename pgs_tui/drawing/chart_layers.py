"""What stands over the curves of a chart, layer by layer: reference, points, signs in the top row, cursor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.axes import Limits
from pgs_tui.drawing.curves import ChartMark, Curves
from pgs_tui.drawing.lines import Role, Span
from pgs_tui.drawing.raster import GLYPHS
from pgs_tui.drawing.severities import SIGNS
from pgs_tui.history.series import Columns

NOT_FINITE = "×"
CLIPPED = "▲"
BELOW = "▼"
POINT = "◆"
BEST = "★"

MARKS: dict[str, tuple[str, str]] = {
    "spike": (CLIPPED, "!"),
    "nan": (NOT_FINITE, "x"),
    "skipped": ("⊘", "s"),
    "checkpoint": ("■", "c"),
    "eval": (POINT, "e"),
    "best": (BEST, "B"),
    "resume": ("↻", "r"),
    "stalled": ("‖", "="),
}
"""The sign of each kind of mark: where there are such characters, and in ASCII."""
OTHER_MARK = ("•", "o")
GRAVITY = ("info", "warning", "error", "critical")
CURSOR = ("│", "|")
REFERENCE = ("╌", "-")

Cells = list[list[Span]]
Label = tuple[float, int, str, Role]
"""Position on the x axis, column, words and their role."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Cells of the canvas for positions on the x axis and for values."""

    width: int
    height: int
    start: float
    end: float
    limits: Limits
    glyphs: GlyphName

    def column(self, x: float) -> int | None:
        """The cell of a position, None outside."""
        if not self.start <= x < self.end or not self.width:
            return None
        return min(int((x - self.start) / (self.end - self.start) * self.width), self.width - 1)

    def row(self, value: float) -> int:
        """The row of a value, 0 at the top; values outside the limits stand on the border."""
        rows = GLYPHS[self.glyphs].rows
        dots = self.height * rows - 1
        place = min(max(self.limits.place(value), 0.0), 1.0)
        return int((1 - place) * dots + 0.5) // rows


class Signs:
    """Points, marks and flags in their cells, worked out again only when one of them, or the plane, has changed."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._points: list[tuple[int, int, Span]] = []
        self._top: dict[int, Span] = {}
        self._labels: list[Label] = []

    def put(self, cells: Cells, plane: Plane, curves: Curves) -> None:
        """Over the curves: points at their values, signs in the top row, and the words of one of them."""
        if not cells:
            return
        not_finite = [(other.columns.marks, other.role) for other in curves.others]
        key = (plane, curves.points, curves.marks, curves.flags, curves.raw.marks, not_finite)
        if key != self._key:
            self._key = key
            self._points = list(_points(plane, curves))
            self._top = _top_row(plane, curves)
            self._labels = _labels(plane, curves)
        for row, column, span in self._points:
            cells[row][column] = span
        for column, span in self._top.items():
            cells[0][column] = span
        self._put_label(cells[0], plane, curves.cursor)

    def _put_label(self, row: list[Span], plane: Plane, cursor: float | None) -> None:
        """One label beside its sign, where the top row is free: that at the cursor, else the newest."""
        for _, column, text, role in _nearest(self._labels, plane, cursor) or self._labels[-1:]:
            size = len(text)
            for start in (column + 2, column - 1 - size):
                inside = start >= 0 and start + size <= plane.width
                if inside and all(cell[0] == " " for cell in row[start : start + size]):
                    row[start : start + size] = [(character, role) for character in text]
                    return


def put_reference(cells: Cells, plane: Plane, value: float | None) -> None:
    """A thin line at the value, behind everything, where the limits hold it."""
    if value is None or not isfinite(value) or not cells or not 0 <= plane.limits.place(value) <= 1:
        return
    row = cells[plane.row(value)]
    span: Span = (REFERENCE[plane.glyphs == "ascii"], "dim")
    row[:] = [span if cell[0] == " " else cell for cell in row]


def put_clipped(cells: Cells, limits: Limits, columns: Columns, per_cell: int, role: Role) -> None:
    """Signs at the border for values above and below the limits. Each cell holds `per_cell` columns."""
    bottom, top = _edges(limits)
    low, high = columns.extent()
    if not cells or low > high or (low >= bottom and high <= top):
        return
    above, below = (CLIPPED, role), (BELOW, role)
    for column, (low, high) in enumerate(zip(columns.low, columns.high, strict=True)):
        if low <= high and high > top:
            cells[0][column // per_cell] = above
        if low <= high and low < bottom:
            cells[-1][column // per_cell] = below


def put_cursor(cells: Cells, plane: Plane, x: float | None) -> None:
    """A line down the blank cells of the position; where something is drawn it is seen in reverse."""
    column = plane.column(x) if x is not None else None
    if column is None:
        return
    line: Span = (CURSOR[plane.glyphs == "ascii"], "accent")
    for row in cells:
        text, role = row[column]
        row[column] = line if text == " " or role == "dim" else (text, "cursor")


def _edges(limits: Limits) -> tuple[float, float]:
    """Values past these are outside, and not only by rounding."""
    if limits.log:
        return limits.low * (1 - 1e-9), limits.high * (1 + 1e-9)
    slack = (limits.high - limits.low) * 1e-9
    return limits.low - slack, limits.high + slack


def _points(plane: Plane, curves: Curves) -> Iterator[tuple[int, int, Span]]:
    """The best one has a sign of its own; those outside the limits are signs at the border."""
    best = {mark.x for mark in curves.marks if mark.kind == "best"}
    bottom, top = _edges(plane.limits)
    for x, value in curves.points:
        column = plane.column(x)
        if column is None or not isfinite(value):
            continue
        sign = CLIPPED if value > top else BELOW if value < bottom else POINT
        if sign == POINT and x in best:
            sign = MARKS["best"][plane.glyphs == "ascii"]
        yield plane.row(value), column, (sign, "good")


def _top_row(plane: Plane, curves: Curves) -> dict[int, Span]:
    """Of several signs in one cell the gravest is seen, and what is not a number before all others."""
    top: dict[int, Span] = {}
    points = {x for x, _ in curves.points}
    marks = [mark for mark in curves.marks if mark.kind not in ("eval", "best") or mark.x not in points]
    for mark in sorted(marks, key=_gravity):
        column = plane.column(mark.x)
        if column is not None:
            top[column] = (MARKS.get(mark.kind, OTHER_MARK)[plane.glyphs == "ascii"], _role(mark))
    for flag in curves.flags:
        column = plane.column(flag.step)
        if column is not None:
            top[column] = (CLIPPED, flag.role)
    per_cell = GLYPHS[plane.glyphs].columns
    for other in curves.others:
        top |= {column // per_cell: (NOT_FINITE, other.role) for column in other.columns.marks}
    top |= {column // per_cell: (NOT_FINITE, "bad") for column in curves.raw.marks if column // per_cell < plane.width}
    return top


def _labels(plane: Plane, curves: Curves) -> list[Label]:
    """The words of marks and flags that are in sight, in their order."""
    words: list[tuple[float, str, Role]] = [(mark.x, mark.label, _role(mark)) for mark in curves.marks]
    words += [(flag.step, flag.label, flag.role) for flag in curves.flags]
    seen = [(x, plane.column(x), text, role) for x, text, role in sorted(words, key=lambda one: one[0])]
    return [(x, column, text, role) for x, column, text, role in seen if column is not None and text and text.isascii()]


def _nearest(labels: list[Label], plane: Plane, cursor: float | None) -> list[Label]:
    """Of several labels in the cell of the cursor that of its very step, else the nearest; none where there is none."""
    if cursor is None:
        return []
    here = [one for one in reversed(labels) if one[1] == plane.column(cursor)]
    return [min(here, key=lambda one: abs(one[0] - cursor))] if here else []


def _role(mark: ChartMark) -> Role:
    return "accent" if mark.severity == "info" else SIGNS.get(mark.severity, SIGNS["warning"])[1]


def _gravity(mark: ChartMark) -> int:
    return GRAVITY.index(mark.severity) if mark.severity in GRAVITY else 1
