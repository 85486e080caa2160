"""A chart as a still of text, its axes by plotext."""

from __future__ import annotations

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.chart import dot_columns, limits_of, render
from pgs_tui.drawing.chart_layers import MARKS, OTHER_MARK
from pgs_tui.drawing.curves import Curves
from pgs_tui.drawing.lines import fit, line, spread, text_of, to_ascii
from pgs_tui.export.picture import Picture

WIDTH, HEIGHT = 100, 26


def chart_as_text(picture: Picture, glyphs: GlyphName, width: int = WIDTH, height: int = HEIGHT) -> str:
    """The chart with its words above and below, and what its marks mean; at most `width` cells across."""
    head = spread(
        line((picture.title, "text"), (f"  {picture.note}" if picture.note else "", "text")),
        line((picture.value, "text")),
        width,
    )
    rows = [fit(line((picture.run, "text")), width), head]
    if picture.curves is None:
        rows.append(line((picture.empty, "text")))
    else:
        curves = picture.curves(dot_columns(width, height, glyphs))
        rows += render(curves, width, height, limits_of(curves, picture.log, None), glyphs)
        rows += [
            fit(line((words, "text")), width) for words in (f"x: {picture.x_words}", _legend(curves, glyphs)) if words
        ]
    rows += [fit(line((picture.summary, "text")), width)] if picture.summary else []
    drawn = (to_ascii(row) if glyphs == "ascii" else row for row in rows)
    return "".join(f"{text_of(row).rstrip()}\n" for row in drawn)


def _legend(curves: Curves, glyphs: GlyphName) -> str:
    """Which signs stand in the chart, and for what."""
    kinds = dict.fromkeys(mark.kind for mark in curves.marks)
    place = 1 if glyphs == "ascii" else 0
    return "   ".join(f"{MARKS.get(kind, OTHER_MARK)[place]} {kind}" for kind in kinds)
