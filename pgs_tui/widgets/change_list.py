"""The cheapest changes that would make it fit or use the room, each with its digit and its effect."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, Role, line, wrapped, wrapped_into
from pgs_tui.format import plain
from pgs_tui.profiling.shapes import Change
from pgs_tui.profiling.words import in_short
from pgs_tui.widgets.panel import Panel


class ChangeList(Panel):
    """Show changes with `show`; `selected` is the place of the marked one."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._changes: tuple[Change, ...] = ()
        self._said = ""
        self._is_old = False
        self.selected = 0

    def show(self, changes: tuple[Change, ...], said: str, old: bool) -> None:
        """Show these changes, or what is said in their place; `old` ones answer an earlier question."""
        if (changes, said, old) != (self._changes, self._said, self._is_old):
            self._changes, self._said, self._is_old = changes, said, old
            self.selected = min(self.selected, max(len(changes) - 1, 0))
            self.redraw()

    def move(self, step: int) -> None:
        """Mark another one."""
        self.selected = min(max(self.selected + step, 0), max(len(self._changes) - 1, 0))
        self.redraw()

    def title(self) -> Line:
        return line(("what would help", "title"))

    def value(self) -> Line:
        return line(("…" if self._is_old and self._changes else "", "dim"))

    def summary(self) -> Sequence[Line]:
        return [line(("a digit makes the change, u takes it back", "dim"))] if self._changes else ()

    def draw(self, width: int, height: int) -> Sequence[Line]:
        if self.framed and height >= 5:
            return super().draw(width, height)
        return [line((" ", "text"), *row) for row in self.body(width - 2, height)]

    def body(self, width: int, height: int) -> Sequence[Line]:
        if not self._changes:
            return wrapped(plain(self._said), width, "dim")[:height]
        full = [len(wrapped(plain(change.sentence), max(width - 4, 1))) for change in self._changes]
        room = [1] * len(full)
        for place, rows in enumerate(full):
            room[place] += max(min(rows - 1, height - sum(room)), 0)
        return [row for place, rows in enumerate(room) for row in self._entry(place, rows, width)][:height]

    def _entry(self, place: int, rows: int, width: int) -> list[Line]:
        chosen = self.has_focus and place == self.selected
        role: Role = "dim" if self._is_old else "value" if chosen else "text"
        text = self._text(self._changes[place], max(width - 4, 1), rows, role)
        first = line(("› " if chosen else "  ", "focus"), (f"{place + 1} ", "key"))
        return [(*(first if number == 0 else line(("    ", "text"))), *row) for number, row in enumerate(text)]

    @staticmethod
    def _text(change: Change, cells: int, rows: int, role: Role) -> list[Line]:
        """Its sentence, or in short where that would be cut off before it says what to change."""
        full = wrapped(plain(change.sentence), cells, role)
        return full if len(full) <= rows else wrapped_into(plain(in_short(change)), cells, rows, role)
