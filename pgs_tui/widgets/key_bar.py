"""The last line of the screen: the keys that work here, or for a while something that has to be said."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, Role, Span, line
from pgs_tui.keys import fitting
from pgs_tui.widgets.drawn import Drawn


class KeyBar(Drawn):
    """Shows as many hints as fit."""

    def __init__(self, hints: Sequence[tuple[str, str]], *, id: str) -> None:
        super().__init__(id=id)
        self._hints = tuple(hints)
        self._message: tuple[str, Role] | None = None

    @property
    def speaking(self) -> bool:
        """True while a message stands in place of the keys."""
        return self._message is not None

    def offer(self, hints: Sequence[tuple[str, str]]) -> None:
        """Show these hints from now on."""
        if tuple(hints) != self._hints:
            self._hints = tuple(hints)
            self.redraw()

    def say(self, text: str, role: Role = "accent") -> None:
        """Show a message in place of the keys until `quiet`."""
        self._message = (text, role)
        self.redraw()

    def quiet(self) -> None:
        """Show the keys again."""
        self._message = None
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Line]:
        if self._message:
            return [line((" ", "text"), self._message)]
        return [_hint_line(fitting(self._hints, width))]


def _hint_line(hints: Sequence[tuple[str, str]]) -> Line:
    spans: list[Span] = [(" ", "text")]
    for place, (key, meaning) in enumerate(hints):
        spans += [("  " if place else "", "text"), (key, "key"), (f" {meaning}", "dim")]
    return line(*spans)
