"""What stands over the curves of a chart, layer by layer: reference, points, signs in the top row, cursor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from pgs_tui.look import GlyphName
from pgs_tui.runs.series import Columns
from pgs_tui.widgets.axes import Limits
from pgs_tui.widgets.curves import ChartMark, Curves, Point
from pgs_tui.widgets.lines import Role, Span
from pgs_tui.widgets.severities import SIGNS

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
CURSOR = {"ascii": "|"}
REFERENCE = {"ascii": "-"}

Cells = list[list[Span]]


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

    def row(self, value: float, dot_rows: int) -> int:
        """The row of a value, 0 at the top; values outside the limits stand on the border."""
        dots = self.height * dot_rows - 1
        place = min(max(self.limits.place(value), 0.0), 1.0)
        return round((1 - place) * dots) // dot_rows


def put_reference(cells: Cells, plane: Plane, value: float | None, dot_rows: int) -> None:
    """A thin line at the value, behind everything, where the limits hold it."""
    if value is None or not isfinite(value) or not plane.height or not 0 <= plane.limits.place(value) <= 1:
        return
    row = cells[plane.row(value, dot_rows)]
    span: Span = (REFERENCE.get(plane.glyphs, "╌"), "dim")
    row[:] = [span if cell[0] == " " else cell for cell in row]


def put_points(cells: Cells, plane: Plane, points: Iterable[Point], marks: Iterable[ChartMark], dot_rows: int) -> None:
    """Points at their values, the best one with a sign of its own; at the border those outside the limits."""
    best = {mark.x for mark in marks if mark.kind == "best"}
    for x, value in points:
        column = plane.column(x)
        if column is None or not isfinite(value) or not plane.height:
            continue
        place = plane.limits.place(value)
        sign = CLIPPED if place > 1 + 1e-9 else BELOW if place < -1e-9 else POINT
        if sign == POINT and x in best:
            sign = MARKS["best"][plane.glyphs == "ascii"]
        cells[plane.row(value, dot_rows)][column] = (sign, "good")


def put_clipped(cells: Cells, limits: Limits, columns: Columns, dot_columns: int, role: Role) -> None:
    """Signs at the border for values above and below the limits."""
    low, high = columns.extent()
    if not cells or low > high or (limits.place(high) <= 1 + 1e-9 and limits.place(low) >= -1e-9):
        return
    for column, (low, high) in enumerate(zip(columns.low, columns.high, strict=True)):
        if high < low:
            continue
        if limits.place(high) > 1 + 1e-9:
            cells[0][column // dot_columns] = (CLIPPED, role)
        if limits.place(low) < -1e-9:
            cells[-1][column // dot_columns] = (BELOW, role)


def put_marks(cells: Cells, plane: Plane, curves: Curves, dot_columns: int) -> None:
    """Signs in the top row. Of several in one cell the gravest is seen, and what is not a number before all others."""
    if not cells:
        return
    drawn = {x for x, _ in curves.points}
    marks = [mark for mark in curves.marks if mark.kind not in ("eval", "best") or mark.x not in drawn]
    for mark in sorted(marks, key=_gravity):
        column = plane.column(mark.x)
        if column is not None:
            sign = MARKS.get(mark.kind, OTHER_MARK)[plane.glyphs == "ascii"]
            cells[0][column] = (sign, _role(mark))
    for flag in curves.flags:
        column = plane.column(flag.step)
        if column is not None:
            cells[0][column] = (CLIPPED, flag.role)
    for column in curves.raw.marks:
        if column // dot_columns < plane.width:
            cells[0][column // dot_columns] = (NOT_FINITE, "bad")
    _put_label(cells[0], plane, curves)


def put_cursor(cells: Cells, plane: Plane, x: float | None) -> None:
    """A line down the blank cells of the position; where something is drawn it is seen in reverse."""
    column = plane.column(x) if x is not None else None
    if column is None:
        return
    line = CURSOR.get(plane.glyphs, "│")
    for row in cells:
        text = row[column][0]
        row[column] = (line, "accent") if text in (" ", "╌", "-") else (text, "cursor")


def _put_label(row: list[Span], plane: Plane, curves: Curves) -> None:
    """One label beside its mark, where the top row is free: that at the cursor, else the newest."""
    here = plane.column(curves.cursor) if curves.cursor is not None else None
    labelled = [(plane.column(x), text, role) for x, text, role in _labels(curves)]
    seen = [(column, text, role) for column, text, role in labelled if column is not None and text.isascii()]
    at_cursor = [one for one in seen if one[0] == here]
    for column, text, role in (at_cursor or seen)[-1:]:
        size = len(text)
        for start in (column + 2, column - 1 - size):
            inside = start >= 0 and start + size <= plane.width
            if inside and all(cell[0] == " " for cell in row[start : start + size]):
                row[start : start + size] = [(character, role) for character in text]
                return


def _labels(curves: Curves) -> list[tuple[float, str, Role]]:
    marks: list[tuple[float, str, Role]] = [(mark.x, mark.label, _role(mark)) for mark in curves.marks if mark.label]
    flags: list[tuple[float, str, Role]] = [(flag.step, flag.label, flag.role) for flag in curves.flags]
    return sorted(marks + flags, key=lambda one: one[0])


def _role(mark: ChartMark) -> Role:
    return "accent" if mark.severity == "info" else SIGNS.get(mark.severity, SIGNS["warning"])[1]


def _gravity(mark: ChartMark) -> int:
    return GRAVITY.index(mark.severity) if mark.severity in GRAVITY else 1
