"""The runs of a comparison, one a line: its sign and name, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgs_tui.drawing.lines import Line, Role, fit, line, width
from pgs_tui.widgets.panel import Panel

NARROWEST_NAME = 10
GAP = 2
HIDDEN_SIGN, BASE_SIGN = "·", "◆"
FRONT = 5
"""Cells before the name: what is selected, the sign, whether it is the baseline."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text under one of the heads."""

    text: str
    role: Role = "text"


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run. `sign` is that of its curve; one that is not `shown` has none."""

    sign: str
    role: Role
    name: str
    cells: tuple[Cell, ...]
    shown: bool = True
    is_base: bool = False


class RunTable(Panel):
    """What matters most stands left: heads for which there is no room are left out from the right."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.selected = 0
        self._heads: tuple[str, ...] = ()
        self._rows: tuple[RunRow, ...] = ()
        self._about = ""

    @property
    def height_wanted(self) -> int:
        """Rows with which all runs are seen, the frame among them."""
        return len(self._rows) + 3

    def show(self, heads: Sequence[str], rows: Sequence[RunRow], about: str = "") -> None:
        """Show other rows; `about` says at what place they are read."""
        self._heads, self._rows, self._about = tuple(heads), tuple(rows), about
        self.redraw()

    def select(self, place: int) -> None:
        """Mark the run at this place, or the one nearest to it that there is."""
        self.selected = min(max(place, 0), max(len(self._rows) - 1, 0))
        self.redraw()

    def title(self) -> Line:
        return line(("runs", "title"))

    def value(self) -> Line:
        return line((self._about, "accent"))

    def brief(self, width: int) -> Line:
        row = self._rows[self.selected] if self._rows else None
        return self._line(self.selected, row, self._widths(width), width) if row else ()

    def body(self, width: int, height: int) -> Sequence[Line]:
        widths = self._widths(width)
        if height > len(self._rows):
            return [self._head(widths, width), *self._between(0, len(self._rows), widths, width)]
        first = min(max(self.selected - height // 2, 0), max(len(self._rows) - height, 0))
        return list(self._between(first, first + height, widths, width))

    def _between(self, first: int, last: int, widths: Sequence[int], cells: int) -> list[Line]:
        places = range(first, min(last, len(self._rows)))
        return [self._line(place, self._rows[place], widths, cells) for place in places]

    def _widths(self, cells: int) -> list[int]:
        """Cells of each column that there is room for; the name gets what is left."""
        found = [
            max([width(head), *(width(row.cells[place].text) for row in self._rows)])
            for place, head in enumerate(self._heads)
        ]
        longest = min(max((width(row.name) for row in self._rows), default=0), max(cells // 2, NARROWEST_NAME))
        while found and FRONT + longest + sum(one + GAP for one in found) > cells:
            if longest > NARROWEST_NAME:
                longest -= 1
            else:
                found.pop()
        return found

    def _head(self, widths: Sequence[int], cells: int) -> Line:
        names = "".join(" " * GAP + head.rjust(size) for head, size in zip(self._heads, widths, strict=False))
        return line((" " * max(cells - width(names), 0), "dim"), (names, "dim"))

    def _line(self, place: int, row: RunRow, widths: Sequence[int], cells: int) -> Line:
        is_selected = place == self.selected
        role: Role = "value" if is_selected else "text"
        told = [
            (" " * GAP + " " * (size - width(cell.text)) + cell.text, cell.role)
            for cell, size in zip(row.cells, widths, strict=False)
        ]
        room = cells - FRONT - sum(width(text) for text, _ in told)
        name = fit(line((row.name, role if row.shown else "dim")), max(room, 0))
        base = BASE_SIGN if row.is_base else " "
        marker = "› " if is_selected else "  "
        sign = row.sign if row.shown else HIDDEN_SIGN
        front: Line = ((marker, "focus"), (sign, row.role if row.shown else "dim"), (base, "accent"), (" ", "text"))
        return line(*front, *name, *told)
