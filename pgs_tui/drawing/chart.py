"""A chart as lines of text: values that were already reduced to the columns that fit, with labels around them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.axes import GUTTER, Limits, canvas_size, choose_limits, robust_top, widened, widened_by_another
from pgs_tui.drawing.canvas import Canvas
from pgs_tui.drawing.chart_layers import (
    BELOW,
    CLIPPED,
    NOT_FINITE,
    POINT,
    Cells,
    Plane,
    Signs,
    put_clipped,
    put_cursor,
    put_reference,
)
from pgs_tui.drawing.curve_signs import put_curve_signs
from pgs_tui.drawing.curves import ChartMark, Curves, Flag, Other
from pgs_tui.drawing.lines import Line, merged
from pgs_tui.drawing.raster import GLYPHS
from pgs_tui.drawing.ticks import Frame, XAxis, frame_of
from pgs_tui.history.series import Columns

__all__ = [
    "BELOW",
    "CLIPPED",
    "NOT_FINITE",
    "POINT",
    "ChartMark",
    "Curves",
    "Flag",
    "LiveChart",
    "Other",
    "dot_columns",
    "limits_of",
    "render",
]

Framing = Callable[[int, int, XAxis, Limits], Frame]
_NO_VALUES = Limits(0.0, 1.0)


def dot_columns(width: int, height: int, glyphs: GlyphName) -> int:
    """How many columns of values a chart of this size can tell apart; reduce to this many."""
    return canvas_size(width, height)[0] * GLYPHS[glyphs].columns


def limits_of(curves: Curves, log: bool, previous: Limits | None) -> Limits | None:
    """Limits that show all that is usual, the previous ones while they fit; None without any finite value.

    The smoothed line widens a linear axis only so far as `widened` allows: one outlier would otherwise hold the axis
    wide for as long as the average takes to forget it. Where the line leaves them, the border says so. Further curves
    widen it likewise, unless there are no raw values: then they alone say what is usual.
    """
    low, high = curves.raw.extent()
    if low > high and curves.others:
        return _limits_of_others(curves, log, previous)
    points = [value for _, value in curves.points if isfinite(value)]
    low, high = min(points, default=low) if low > high else min([low, *points]), max([high, *points])
    if low > high:
        return None
    if log:
        lines = _lines_of(curves)
        shown = (*curves.raw.low, *curves.raw.high, *(low for line in lines for low in line.low), *points)
        positive = [value for value in shown if 0 < value < inf]
        highest = max([high, *(line.extent()[1] for line in lines)])
        return choose_limits(min(positive, default=inf), highest, previous, log=True)
    usual = low, robust_top([*curves.raw.high, *points], low)
    if curves.smooth is not None:
        usual = widened(usual, curves.smooth)
    for other in curves.others:
        usual = widened_by_another(usual, other.columns)
    return choose_limits(*usual, previous)


def _lines_of(curves: Curves) -> list[Columns]:
    smooth = [curves.smooth] if curves.smooth is not None else []
    return [*smooth, *(other.columns for other in curves.others)]


def _limits_of_others(curves: Curves, log: bool, previous: Limits | None) -> Limits | None:
    columns = [other.columns for other in curves.others]
    low = min(one.extent()[0] for one in columns)
    highs = [value for one in columns for value in one.high if isfinite(value)]
    if not highs:
        return None
    if log:
        positive = [value for one in columns for value in (*one.low, *one.high) if 0 < value < inf]
        return choose_limits(min(positive, default=inf), max(highs), previous, log=True)
    return choose_limits(low, robust_top(highs, low), previous)


def render(curves: Curves, width: int, height: int, limits: Limits | None, glyphs: GlyphName) -> tuple[Line, ...]:
    """A still: `height` lines of `width` cells, with the axes of plotext.

    `curves.raw` must have `dot_columns(width, height, glyphs)` columns. Without limits (no value yet) the chart
    is blank but for its marks.
    """
    from pgs_tui.drawing.stills import frame_by_plotext

    return LiveChart(frame_by_plotext).draw(curves, width, height, limits, glyphs)


class LiveChart:
    """Draws one chart again and again, each time only what differs from the time before."""

    def __init__(self, framing: Framing = frame_of) -> None:
        self._framing = framing
        self._canvas: Canvas | None = None
        self._canvas_key: tuple[object, ...] = ()
        self._signs = Signs()
        self._frame: Frame | None = None
        self._frame_key: tuple[object, ...] = ()
        self._rows: Cells = []
        self._lines: list[Line] = []
        self.columns_drawn = 0
        """How many cell columns of the curves the last drawing has looked at."""

    def draw(
        self, curves: Curves, width: int, height: int, limits: Limits | None, glyphs: GlyphName
    ) -> tuple[Line, ...]:
        """`height` lines of `width` cells, as from `render`; rows that look as before are the same objects."""
        if width <= 0 or height <= 0:
            return ()
        inner_width, inner_height = canvas_size(width, height)
        rows = self._cells_of(curves, inner_width, inner_height, limits or _NO_VALUES, glyphs)
        if inner_width < width:
            frame = self._frame_of(width, height, XAxis(curves.raw.start, curves.raw.end, curves.labels), limits)
            for row, label in zip(rows, frame.gutter, strict=True):
                row.insert(0, (label, "dim"))
            rows.append([(frame.bottom, "dim")])
        if len(rows) != len(self._rows):
            self._rows, self._lines = [[] for _ in rows], [()] * len(rows)
        for place, (row, before) in enumerate(zip(rows, self._rows, strict=True)):
            if row != before:
                self._lines[place] = merged(row)
        self._rows = rows
        return tuple(self._lines)

    def _frame_of(self, width: int, height: int, axis: XAxis, limits: Limits | None) -> Frame:
        if limits is None:
            return Frame((" " * GUTTER,) * (height - 1), " " * width)
        key = (width, height, axis, limits)
        if self._frame is None or key != self._frame_key:
            self._frame, self._frame_key = self._framing(width, height, axis, limits), key
        return self._frame

    def _cells_of(self, curves: Curves, width: int, height: int, limits: Limits, glyphs: GlyphName) -> Cells:
        roles = [other.role for other in curves.others]
        key = (width, height, limits, glyphs, curves.smooth is None, roles)
        if self._canvas is None or key != self._canvas_key:
            self._canvas_key = key
            self._canvas = Canvas(limits, glyphs, width, height, curves.smooth is not None, roles)
        self._canvas.draw(curves.raw, curves.smooth, [other.columns for other in curves.others])
        self.columns_drawn = self._canvas.columns_drawn
        cells = [list(row) for row in self._canvas.rows]
        per_cell = GLYPHS[glyphs].columns
        plane = Plane(width, height, curves.raw.start, curves.raw.end, limits, glyphs)
        put_reference(cells, plane, curves.reference)
        for other in curves.others:
            put_clipped(cells, limits, other.columns, per_cell, other.role)
        put_curve_signs(cells, self._canvas.masks_of_others(), curves.others)
        if curves.smooth is not None:
            put_clipped(cells, limits, curves.smooth, per_cell, "accent")
        put_clipped(cells, limits, curves.raw, per_cell, "warn")
        self._signs.put(cells, plane, curves)
        put_cursor(cells, plane, curves.cursor)
        return cells
