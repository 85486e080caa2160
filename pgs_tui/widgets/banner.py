"""How a run ended, in words nobody can miss."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from pgs_tui.format import plain
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.lines import Line, Role, fit, line, wrapped


class Banner(Drawn):
    """What happened, then what was last heard or can be done. As high as its text, within the style sheet's limits."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._said: tuple[tuple[str, Role], ...] = ()

    def show(self, what: str, more: str, role: Role) -> None:
        """Say it."""
        said: tuple[tuple[str, Role], ...] = ((plain(what), role), (plain(more), "dim"))
        if said != self._said:
            self._said = said
            self.redraw()
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """How high it wants to be."""
        return max(len(self._rows(width)), 1)

    def draw(self, width: int, height: int) -> Sequence[Line]:
        rows = self._rows(width)
        if len(rows) > height:  # no room for all words: each part begins on a line of its own
            rows = [fit((part,), width - 2) for part in self._said]
        return [line((" ", "text"), *row) for row in rows]

    def _rows(self, width: int) -> list[Line]:
        return [row for text, role in self._said for row in wrapped(text, width - 2, role)]
