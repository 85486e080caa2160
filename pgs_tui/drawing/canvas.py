"""The curves of a chart on their cells. Drawn again, only the columns that differ are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, count
from math import log10
from operator import ne

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.axes import Limits
from pgs_tui.drawing.lines import Role, Span
from pgs_tui.drawing.raster import GLYPHS, DotSpan, Raster
from pgs_tui.history.series import Columns

BLANK: Span = (" ", "text")


@lru_cache(maxsize=16)
def cells_of_masks(glyphs: GlyphName, role: Role) -> tuple[Span, ...]:
    """The cell of each mask. The same objects for every chart: equal rows are then told from each other at once."""
    return tuple(BLANK if character == " " else (character, role) for character in GLYPHS[glyphs].characters)


class CurveLayer:
    """One curve, reduced to columns, as dots."""

    def __init__(self, limits: Limits, glyphs: GlyphName, width: int, height: int, clipped: bool) -> None:
        """What lies outside the limits stands on the border, or, when `clipped`, is left out."""
        self.raster = Raster(GLYPHS[glyphs], width, height)
        self._limits = limits
        self._clipped = clipped
        self._dots = self.raster.height * self.raster.glyphs.rows - 1
        self._columns: Columns | None = None
        self._spans: list[DotSpan] = []
        self._breaks: set[int] = set()

    def draw(self, columns: Columns) -> int:
        """Draw the columns that differ from those of the last time; returns the first cell that may look different."""
        first = self._first_difference(columns)
        self._columns = columns
        per_cell = self.raster.glyphs.columns
        if first is None:
            return self.raster.width
        self._spans[first:] = self._spans_of(columns.low[first:], columns.high[first:])
        outside = self._outside(columns) if self._clipped else ()
        self._breaks = {*columns.marks, *outside}
        return self.raster.draw(self._spans, self._breaks, first) // per_cell

    def _first_difference(self, columns: Columns) -> int | None:
        before = self._columns
        if before is None or len(before.low) != len(columns.low):
            self._spans = []
            return 0
        low = next(compress(count(), map(ne, before.low, columns.low)), None)
        high = next(compress(count(), map(ne, before.high, columns.high)), None)
        mark = min(before.marks ^ columns.marks, default=None)
        return min((one for one in (low, high, mark) if one is not None), default=None)

    def _outside(self, columns: Columns) -> list[int]:
        low, high = self._limits.low, self._limits.high
        return [
            column
            for column, (below, above) in enumerate(zip(columns.low, columns.high, strict=True))
            if below <= above and (below > high or above < low)
        ]

    def _spans_of(self, lows: Sequence[float], highs: Sequence[float]) -> list[DotSpan]:
        limits, dots = self._limits, self._dots
        if limits.log:
            return [self._log_span(low, high) for low, high in zip(lows, highs, strict=True)]
        bottom, clipped = limits.low, self._clipped
        scale = dots / (limits.high - bottom)
        spans: list[DotSpan] = []
        for low, high in zip(lows, highs, strict=True):
            if low > high or (clipped and (low > limits.high or high < bottom)):
                spans.append(None)
                continue
            top, foot = dots - (high - bottom) * scale + 0.5, dots - (low - bottom) * scale + 0.5
            spans.append((int(min(max(top, 0.0), dots)), int(min(max(foot, 0.0), dots))))
        return spans

    def _log_span(self, low: float, high: float) -> DotSpan:
        limits, dots = self._limits, self._dots
        if low > high or (self._clipped and (low > limits.high or high < limits.low)):
            return None
        bottom = log10(limits.low)
        scale = dots / (log10(limits.high) - bottom)
        top = dots - (log10(high) - bottom) * scale + 0.5 if high > 0 else dots
        foot = dots - (log10(low) - bottom) * scale + 0.5 if low > 0 else dots
        return int(min(max(top, 0.0), dots)), int(min(max(foot, 0.0), dots))


class Canvas:
    """Further curves, over them the raw values, and over these, where there is one, the smoothed line."""

    def __init__(
        self,
        limits: Limits,
        glyphs: GlyphName,
        width: int,
        height: int,
        smoothed: bool,
        others: Sequence[Role] = (),
    ) -> None:
        """`others` are the roles of the further curves, the lowest first."""
        self._raw = CurveLayer(limits, glyphs, width, height, clipped=False)
        self._smooth = CurveLayer(limits, glyphs, width, height, clipped=True) if smoothed else None
        self._raw_cells = cells_of_masks(glyphs, "raw" if smoothed else "accent")
        self._smooth_cells = cells_of_masks(glyphs, "accent")
        self._others = [CurveLayer(limits, glyphs, width, height, clipped=True) for _ in others]
        self._other_cells = [cells_of_masks(glyphs, role) for role in others]
        self.rows: list[list[Span]] = [[BLANK] * width for _ in range(height)]
        """The cells as they are. Whoever puts something over them works on a copy."""
        self.columns_drawn = 0
        """How many cell columns the last drawing has looked at."""

    def draw(self, raw: Columns, smooth: Columns | None, others: Sequence[Columns] = ()) -> None:
        """Bring the cells up to date."""
        first = self._raw.draw(raw)
        if self._smooth is not None and smooth is not None:
            first = min(first, self._smooth.draw(smooth))
        for layer, columns in zip(self._others, others, strict=True):
            first = min(first, layer.draw(columns))
        width = self._raw.raster.width
        self.columns_drawn = width - first
        if first >= width:
            return
        if self._others:
            self._paint_all(first)
            return
        below, over = self._raw_cells, self._smooth_cells
        if self._smooth is None:
            for row, masks in zip(self.rows, self._raw.raster.masks, strict=True):
                row[first:] = [below[mask] for mask in masks[first:]]
            return
        layers = zip(self.rows, self._raw.raster.masks, self._smooth.raster.masks, strict=True)
        for row, raw_masks, smooth_masks in layers:
            row[first:] = [
                over[above] if above else below[mask]
                for mask, above in zip(raw_masks[first:], smooth_masks[first:], strict=True)
            ]

    def masks_of_others(self) -> list[list[bytearray]]:
        """Of each further curve the rows of cells, not 0 where it has a dot."""
        return [layer.raster.masks for layer in self._others]

    def _paint_all(self, first: int) -> None:
        layers = [*zip(self._others, self._other_cells, strict=True), (self._raw, self._raw_cells)]
        if self._smooth is not None:
            layers.append((self._smooth, self._smooth_cells))
        for place, row in enumerate(self.rows):
            cells = [BLANK] * (len(row) - first)
            for layer, painted in layers:
                masks = layer.raster.masks[place][first:]
                if any(masks):
                    cells = [painted[mask] if mask else below for mask, below in zip(masks, cells, strict=True)]
            row[first:] = cells
