"""A panel of text about what is selected beside it; it scrolls."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line
from pgs_tui.widgets.panel import Panel


class Details(Panel):
    """`_text` are all its lines; it begins at the first one after `_from_the_top`."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._first = 0

    def scroll(self, lines: int) -> None:
        """Move the text."""
        rows = max(self.size.height - 2, 1)
        self._first = max(min(self._first + lines, len(self._text(self.size.width - 4)) - rows), 0)
        self.redraw()

    def body(self, width: int, height: int) -> Sequence[Line]:
        return self._text(width)[self._first : self._first + height]

    def _from_the_top(self) -> None:
        self._first = 0

    def _text(self, cells: int) -> list[Line]:
        raise NotImplementedError
