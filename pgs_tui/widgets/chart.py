"""A chart as lines of text: `render` draws values that were already reduced to the columns that fit."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from pgs_tui.look import GlyphName
from pgs_tui.runs.series import Columns
from pgs_tui.widgets.axes import Limits, canvas_size, choose_limits, robust_top, scaffold
from pgs_tui.widgets.lines import Line, Role, Span, merged
from pgs_tui.widgets.raster import GLYPHS, DotSpan, Raster

NOT_FINITE = "×"
CLIPPED = "▲"
BELOW = "▼"
POINT = "◆"


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that happened at a step: a mark in the top row, with its label where there is room."""

    step: int
    label: str
    role: Role = "warn"


@dataclass(frozen=True, slots=True)
class Curves:
    """What a chart shows: the raw values, the smoothed line over them, single points, flags."""

    raw: Columns
    smooth: Columns | None = None
    points: tuple[tuple[int, float], ...] = ()
    flags: tuple[Flag, ...] = ()


def dot_columns(width: int, height: int, glyphs: GlyphName) -> int:
    """How many columns of values a chart of this size can tell apart; reduce to this many."""
    return canvas_size(width, height)[0] * GLYPHS[glyphs].columns


def limits_of(curves: Curves, log: bool, previous: Limits | None) -> Limits | None:
    """Limits that show all that is usual, the previous ones while they fit; None without any finite value."""
    low, high = curves.raw.extent()
    for _, value in curves.points:
        if isfinite(value):
            low, high = min(low, value), max(high, value)
    if low > high:
        return None
    if log:
        positive = [value for value in (*curves.raw.low, *curves.raw.high) if isfinite(value) and value > 0]
        return choose_limits(min(positive, default=inf), high, previous, log=True)
    usual = robust_top([*curves.raw.high, *(value for _, value in curves.points)], low)
    return choose_limits(low, usual, previous)


def render(curves: Curves, width: int, height: int, limits: Limits | None, glyphs: GlyphName) -> tuple[Line, ...]:
    """`height` lines of `width` cells.

    `curves.raw` must have `dot_columns(width, height, glyphs)` columns. Without limits (no value yet) the chart
    is blank.
    """
    if width <= 0 or height <= 0:
        return ()
    if limits is None:
        return _with_marks_only(curves, width, height, glyphs)
    inner_width, inner_height = canvas_size(width, height)
    canvas = _Canvas(curves, limits, inner_width, inner_height, glyphs)
    rows = canvas.rows()
    if inner_width == width:
        return tuple(merged(row) for row in rows)
    frame = scaffold(width, height, round(curves.raw.start), max(round(curves.raw.end) - 1, 1), limits)
    labelled = [merged([(frame[place][: width - inner_width], "dim"), *row]) for place, row in enumerate(rows)]
    return (*labelled, ((frame[-1], "dim"),))


def _with_marks_only(curves: Curves, width: int, height: int, glyphs: GlyphName) -> tuple[Line, ...]:
    inner_width, inner_height = canvas_size(width, height)
    canvas = _Canvas(curves, Limits(0.0, 1.0), inner_width, inner_height, glyphs)
    blank: list[Span] = [(" " * (width - inner_width), "text")] if inner_width < width else []
    rows = [merged([*blank, *row]) for row in canvas.rows()]
    return (*rows, *(((" " * width, "text"),) for _ in range(height - len(rows))))


class _Canvas:
    """The curves on their cells, layer over layer: raw, smoothed, points, marks."""

    def __init__(self, curves: Curves, limits: Limits, width: int, height: int, glyphs: GlyphName) -> None:
        self.curves = curves
        self.limits = limits
        self.width = width
        self.height = height
        self.glyphs = GLYPHS[glyphs]

    def rows(self) -> list[list[Span]]:
        cells = self._layer(self.curves.raw, "raw" if self.curves.smooth else "accent")
        if self.curves.smooth:
            self._put_over(cells, self._layer(self.curves.smooth, "accent"))
        self._put_points(cells)
        self._put_clipped(cells)
        self._put_flags(cells)
        self._put_marks(cells)
        self._put_label(cells)
        return cells

    def _layer(self, columns: Columns, role: Role) -> list[list[Span]]:
        raster = Raster(self.glyphs, self.width, self.height)
        raster.draw([self._span(low, high) for low, high in zip(columns.low, columns.high, strict=True)], columns.marks)
        return [[(character, role if character != " " else "text") for character in row] for row in raster.rows()]

    def _span(self, low: float, high: float) -> DotSpan:
        if low > high:
            return None
        return self._dot(high), self._dot(low)

    def _dot(self, value: float) -> int:
        """The dot row of a value, 0 at the top; values outside the limits stand on the border."""
        dots = self.height * self.glyphs.rows - 1
        return round((1 - min(max(self.limits.place(value), 0.0), 1.0)) * dots)

    def _put_over(self, cells: list[list[Span]], layer: list[list[Span]]) -> None:
        for row, over in zip(cells, layer, strict=True):
            for place, span in enumerate(over):
                if span[0] != " ":
                    row[place] = span

    def _put_points(self, cells: list[list[Span]]) -> None:
        for step, value in self.curves.points:
            column = self._cell_of(step)
            if column is not None and isfinite(value) and self.height:
                cells[self._dot(value) // self.glyphs.rows][column] = (POINT, "good")

    def _put_clipped(self, cells: list[list[Span]]) -> None:
        if not self.height:
            return
        for column, (low, high) in enumerate(zip(self.curves.raw.low, self.curves.raw.high, strict=True)):
            cell = column // self.glyphs.columns
            if high >= low and self.limits.place(high) > 1 + 1e-9:
                cells[0][cell] = (CLIPPED, "warn")
            if high >= low and self.limits.place(low) < -1e-9:
                cells[-1][cell] = (BELOW, "warn")

    def _put_flags(self, cells: list[list[Span]]) -> None:
        for flag in self.curves.flags:
            column = self._cell_of(flag.step)
            if column is not None and self.height:
                cells[0][column] = (CLIPPED, flag.role)

    def _put_label(self, cells: list[list[Span]]) -> None:
        """The newest flag's label beside its mark, where the top row is free."""
        flag = self.curves.flags[-1] if self.curves.flags else None
        column = self._cell_of(flag.step) if flag else None
        if flag is None or column is None or not self.height or not flag.label.isascii():
            return
        size = len(flag.label)
        for start in (column + 2, column - 1 - size):
            inside = start >= 0 and start + size <= self.width
            if inside and all(text == " " for text, _ in cells[0][start : start + size]):
                cells[0][start : start + size] = [(character, flag.role) for character in flag.label]
                return

    def _put_marks(self, cells: list[list[Span]]) -> None:
        for column in self.curves.raw.marks:
            if self.height and column // self.glyphs.columns < self.width:
                cells[0][column // self.glyphs.columns] = (NOT_FINITE, "bad")

    def _cell_of(self, step: int) -> int | None:
        columns = self.curves.raw
        if columns.end <= columns.start or not self.width:
            return None
        cell = int((step - columns.start) / (columns.end - columns.start) * self.width)
        return cell if 0 <= cell < self.width else None
