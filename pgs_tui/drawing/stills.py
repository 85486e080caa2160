"""The labels of a picture that stands still, drawn by plotext."""

from __future__ import annotations

from functools import lru_cache

from pgs_tui.drawing.axes import GUTTER, Limits
from pgs_tui.drawing.ticks import Frame, XAxis, value_ticks


def frame_by_plotext(width: int, height: int, axis: XAxis, limits: Limits) -> Frame:
    """What `ticks.frame_of` gives."""
    rows = scaffold(width, height, limits, tuple(axis.ticks(width - GUTTER)))
    return Frame(tuple(row[:GUTTER] for row in rows[:-1]), rows[-1])


@lru_cache(maxsize=64)
def scaffold(width: int, height: int, limits: Limits, ticks: tuple[tuple[float, str], ...]) -> tuple[str, ...]:
    """Labels around an empty canvas: `height` rows of `width` cells, drawn by plotext.

    The canvas is what `canvas_size` says, to the right of the gutter and above the row of `ticks`: positions on
    the x axis and their words.
    """
    from plotext import figure, terminal

    terminal.limit(False, False)
    figure.clear()
    figure.theme("colorless")
    figure.canvas("default")
    for axis in (0, 1):
        figure.axes(False, axis=axis)
    figure.plot_size(width, height)
    positions, labels = value_ticks(limits, height - 1)
    figure.ruler(1, 0).lim(0, 1)
    figure.ruler(1, 0).ticks(positions, [label.rjust(GUTTER - 1) + " " for label in labels])
    figure.ruler(0, 0).lim(ticks[0][0], ticks[-1][0])
    figure.ruler(0, 0).ticks([tick for tick, _ in ticks], [words for _, words in ticks])
    drawn = figure.build().string(colorless=True).split("\n")
    return tuple(row.ljust(width)[:width] for row in drawn[:height])
