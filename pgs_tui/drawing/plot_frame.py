"""Labels around a panel's own drawing over the x axis of all charts, and the cursor through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgs_tui.drawing.axes import Limits, canvas_size
from pgs_tui.drawing.lines import Line, Span, line, merged
from pgs_tui.drawing.ticks import XAxis, frame_of


@dataclass(frozen=True, slots=True)
class Sight:
    """The stretch of the x axis that all charts show, and the position of the cursor on it, where there is one."""

    axis: XAxis
    cursor: float | None = None

    def column(self, cells: int) -> int | None:
        """The cell of the cursor, out of so many; None where it is not seen."""
        start, end = self.axis.start, self.axis.end
        if self.cursor is None or not start <= self.cursor < end or cells <= 0:
            return None
        return min(int((self.cursor - start) / (end - start) * cells), cells - 1)


def framed(rows: Sequence[Sequence[Span]], width: int, height: int, sight: Sight, limits: Limits) -> list[Line]:
    """The rows, which fill the canvas of `canvas_size`, with labels of both axes where they fit."""
    inner_width, _ = canvas_size(width, height)
    if inner_width == width:
        return [merged(row) for row in rows]
    frame = frame_of(width, height, sight.axis, limits)
    labelled = [merged([(label, "dim"), *row]) for label, row in zip(frame.gutter, rows, strict=True)]
    return [*labelled, line((frame.bottom, "dim"))]


def in_the_middle(text: str, width: int, height: int) -> list[Line]:
    """The text in the middle of the room, nothing where it does not fit."""
    if len(text) > width:
        return []
    blank: list[Line] = [()] * ((height - 1) // 2)
    return [*blank, line((" " * ((width - len(text)) // 2), "text"), (text, "dim"))]
