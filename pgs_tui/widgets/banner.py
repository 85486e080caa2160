"""How a run ended, in words nobody can miss."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from pgs_tui.drawing.lines import Line, Role, fit, line, text_of, wrapped
from pgs_tui.format import plain
from pgs_tui.widgets.drawn import Drawn


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
        if len(rows) > height:
            rows = self._shortened(width - 2, height)
        return [line((" ", "text"), *row) for row in rows]

    def _shortened(self, width: int, height: int) -> list[Line]:
        """What happened as far as there is room, then one line of the rest where there is more than one."""
        what, *more = self._said
        last = [fit((part,), width) for part in more[: height - 1]]
        room = height - len(last)
        rows = wrapped(what[0], width, what[1])
        if len(rows) > room:
            tail = " ".join(text_of(row).rstrip() for row in rows[room - 1 :])
            rows = [*rows[: room - 1], fit(((tail, what[1]),), width)]
        return rows + last

    def _rows(self, width: int) -> list[Line]:
        return [row for text, role in self._said for row in wrapped(text, width - 2, role)]
