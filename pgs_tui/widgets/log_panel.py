"""The newest lines of the engine's log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from pgs_tui.drawing.lines import Line, Role, line
from pgs_tui.format import plain
from pgs_tui.widgets.panel import Panel

KEPT = 2000
"""Lines that can be scrolled back to; the whole log stands in the run's `console.log`."""

Kept = tuple[str, Role]


class LogPanel(Panel):
    """Shows the end, unless scrolled up; with `only`, no lines but those with that text."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._kept: deque[Kept] = deque(maxlen=KEPT)
        self._up = 0
        self.only = ""

    def extend(self, texts: Iterable[str], role: Role = "text") -> None:
        """Add lines at the end, then draw once. A view that was scrolled up stays where it is."""
        added = [(plain(text), role) for text in texts]
        self._kept.extend(added)
        if self._up:
            self._up = min(self._up + len(self._wanted(added)), max(len(self._wanted(self._kept)) - 1, 0))
        self.redraw()

    def clear(self) -> None:
        """Forget all lines."""
        self._kept.clear()
        self._up = 0
        self.redraw()

    def show_only(self, text: str) -> int:
        """Leave out lines without the text, in small or capital letters, now and later; returns how many have it."""
        self.only, self._up = text.strip(), 0
        self.redraw()
        return len(self._wanted(self._kept))

    def scroll(self, lines: int) -> None:
        """Go up by `lines`, or down when negative."""
        self._up = min(max(self._up + lines, 0), max(len(self._wanted(self._kept)) - self._rows(), 0))
        self.redraw()

    def last(self, count: int) -> tuple[str, ...]:
        """The newest `count` lines."""
        return tuple(text for text, _ in self._kept)[-count:]

    def title(self) -> Line:
        return (
            line(("log", "title"), (f'  only "{self.only}" · Esc: all', "accent"))
            if self.only
            else line(("log", "title"))
        )

    def value(self) -> Line:
        return line((f"{self._up} up · End: newest", "dim")) if self._up else ()

    def brief(self, width: int) -> Line:
        newest = [text for text, _ in self._wanted(self._kept)][-1:]
        return line((newest[0] if newest else f"log: {self._nothing()}", "dim"))

    def draw(self, width: int, height: int) -> Sequence[Line]:
        if self.framed:
            return super().draw(width, height)
        head = [self.title()] if self.only and height > 1 else []
        return [line((" ", "text"), *row) for row in (*head, *self.body(width - 1, height - len(head)))]

    def body(self, width: int, height: int) -> Sequence[Line]:
        wanted = self._wanted(self._kept)
        if not wanted:
            return [line((self._nothing(), "dim"))]
        end = len(wanted) - self._up
        return [line((text, role)) for text, role in wanted[max(end - height, 0) : end]]

    def _nothing(self) -> str:
        return f'no line has "{self.only}"' if self.only and self._kept else "nothing yet"

    def _wanted(self, lines: Iterable[Kept]) -> list[Kept]:
        text = self.only.lower()
        return [one for one in lines if text in one[0].lower()] if text else list(lines)

    def _rows(self) -> int:
        frame = 2 if self.framed else int(bool(self.only))
        return max(self.size.height - frame, 1)
