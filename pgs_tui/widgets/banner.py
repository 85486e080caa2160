"""How a run ended, in words nobody can miss."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.format import plain
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.lines import Line, Role, line, wrapped


class Banner(Drawn):
    """Two lines: what happened, and what was last heard or can be done."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._what = ""
        self._more = ""
        self._role: Role = "text"

    def show(self, what: str, more: str, role: Role) -> None:
        """Say it."""
        self._what, self._more, self._role = plain(what), plain(more), role
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Line]:
        text = [*wrapped(self._what, width - 2, self._role), *wrapped(self._more, width - 2, "dim")]
        return [line((" ", "text"), *row) for row in text]
