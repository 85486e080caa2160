"""What was measured at the step under the cursor, in the lines above the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgs_tui.drawing.lines import Line, line, line_width
from pgs_tui.widgets.drawn import Drawn

GAP = "  "


@dataclass(frozen=True, slots=True)
class Measured:
    """One value in words: its name, itself, and what is usual there, which stands in brackets. Only `text` must be."""

    name: str
    text: str
    usual: str = ""
    warns: bool = False
    """True where the value is far from what is usual."""


@dataclass(frozen=True, slots=True)
class CursorReading:
    """The step first, then what is known of it, what matters most first; `leads_to` is what Enter opens.

    `more` is only shown where there is room for all of the rest.
    """

    parts: tuple[Measured, ...] = ()
    more: tuple[Measured, ...] = ()
    leads_to: str = ""


class CursorLine(Drawn):
    """Fills its lines part by part, with what is usual as far as there is room for it.

    What finds no room at all is left out, the last parts first, but never the first one, nor what Enter opens.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._reading = CursorReading()

    def show(self, reading: CursorReading) -> None:
        """Show another step; nothing is repainted when nothing changed."""
        if reading != self._reading:
            self._reading = reading
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Line]:
        end = line((GAP, "text"), ("Enter", "key"), (f" {self._reading.leads_to}", "dim")) if width >= 40 else ()
        end = end if self._reading.leads_to else ()
        rows = self._fitting(width - 1, height, line_width(end))
        if rows and len(rows) < height and line_width(rows[-1]) + line_width(end) > width - 1:
            rows.append(line(*end[1:]))
        elif rows:
            rows[-1] = line(*rows[-1], *end)
        return [line((" ", "text"), *row) for row in rows]

    def _fitting(self, width: int, height: int, reserved: int) -> list[Line]:
        """The fullest form there is room for."""
        reading, rows = self._reading, list[Line]()
        for explained in range(len(reading.parts), -1, -1):
            parts = [_words(part, usual=place < explained) for place, part in enumerate(reading.parts)]
            for form in ([*parts, *(_words(part, usual=False) for part in reading.more)], parts):
                rows, left = _filled(form, width, height, reserved)
                if not left:
                    return rows
        return rows


def _words(part: Measured, usual: bool) -> Line:
    brackets = f" ({part.usual})" if part.usual and usual else ""
    name = f"{part.name} " if part.name else ""
    return line((name, "dim"), (part.text, "warn" if part.warns else "value"), (brackets, "dim"))


def _filled(parts: list[Line], width: int, height: int, reserved: int) -> tuple[list[Line], int]:
    """The parts in at most `height` lines, of whose last one `reserved` cells stay free; and how many were left out."""
    rows: list[Line] = []
    waiting = list(parts)
    while waiting and len(rows) < height:
        room = width - (reserved if len(rows) == height - 1 else 0)
        row: Line = waiting.pop(0) if not rows or line_width(waiting[0]) <= room else ()
        while waiting and row and line_width(row) + len(GAP) + line_width(waiting[0]) <= room:
            row = line(*row, (GAP, "text"), *waiting.pop(0))
        if not row:
            break
        rows.append(row)
    return rows, len(waiting)
