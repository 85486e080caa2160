"""The newest lines of the engine's log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from pgs_tui.drawing.lines import Line, Role, line
from pgs_tui.format import plain
from pgs_tui.widgets.panel import Panel

KEPT = 2000
"""Lines that can be scrolled back to; the whole log stands in the run's `console.log`."""


class LogPanel(Panel):
    """Shows the end, unless scrolled up."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._kept: deque[tuple[str, Role]] = deque(maxlen=KEPT)
        self._up = 0

    def extend(self, texts: Iterable[str], role: Role = "text") -> None:
        """Add lines at the end, then draw once. A view that was scrolled up stays where it is."""
        added = [(plain(text), role) for text in texts]
        self._kept.extend(added)
        if self._up:
            self._up = min(self._up + len(added), max(len(self._kept) - 1, 0))
        self.redraw()

    def scroll(self, lines: int) -> None:
        """Go up by `lines`, or down when negative."""
        self._up = min(max(self._up + lines, 0), max(len(self._kept) - self._rows(), 0))
        self.redraw()

    def last(self, count: int) -> tuple[str, ...]:
        """The newest `count` lines."""
        return tuple(text for text, _ in self._kept)[-count:]

    def title(self) -> Line:
        return line(("log", "title"))

    def value(self) -> Line:
        return line((f"{self._up} up · End: newest", "dim")) if self._up else ()

    def brief(self, width: int) -> Line:
        newest = self.last(1)
        return line((newest[0] if newest else "log: nothing yet", "dim"))

    def draw(self, width: int, height: int) -> Sequence[Line]:
        if self.framed:
            return super().draw(width, height)
        return [line((" ", "text"), *row) for row in self.body(width - 1, height)]

    def body(self, width: int, height: int) -> Sequence[Line]:
        if not self._kept:
            return [line(("nothing yet", "dim"))]
        end = len(self._kept) - self._up
        rows = list(self._kept)[max(end - height, 0) : end]
        return [line((text, role)) for text, role in rows]

    def _rows(self) -> int:
        return max(self.size.height - (2 if self.framed else 0), 1)
