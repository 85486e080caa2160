"""A chart as lines of text: `render` draws values that were already reduced to the columns that fit."""

from __future__ import annotations

from math import inf, isfinite

from pgs_tui.look import GlyphName
from pgs_tui.runs.series import Columns
from pgs_tui.widgets.axes import Limits, canvas_size, choose_limits, robust_top, scaffold
from pgs_tui.widgets.chart_layers import (
    BELOW,
    CLIPPED,
    NOT_FINITE,
    POINT,
    Plane,
    put_clipped,
    put_cursor,
    put_marks,
    put_points,
    put_reference,
)
from pgs_tui.widgets.curves import ChartMark, Curves, Flag
from pgs_tui.widgets.lines import Line, Role, Span, merged
from pgs_tui.widgets.raster import GLYPHS, DotSpan, Raster

__all__ = [
    "BELOW",
    "CLIPPED",
    "NOT_FINITE",
    "POINT",
    "ChartMark",
    "Curves",
    "Flag",
    "dot_columns",
    "limits_of",
    "render",
]


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
        curves, plane = self.curves, self._plane
        cells = self._layer(curves.raw, "raw" if curves.smooth else "accent")
        if curves.smooth:
            self._put_over(cells, self._layer(curves.smooth, "accent"))
        put_reference(cells, plane, curves.reference, self.glyphs.rows)
        put_points(cells, plane, curves.points, curves.marks, self.glyphs.rows)
        put_clipped(cells, self.limits, curves.raw, self.glyphs.columns, "warn")
        put_marks(cells, plane, curves, self.glyphs.columns)
        put_cursor(cells, plane, curves.cursor)
        return cells

    @property
    def _plane(self) -> Plane:
        columns = self.curves.raw
        return Plane(self.width, self.height, columns.start, columns.end, self.limits, self.glyphs.name)

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
