"""The settings that decide about memory, one a line: its value, and what it was where it was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgs_tui.drawing.lines import Line, Role, fit, joined, line, line_width, wrapped_into
from pgs_tui.format import plain
from pgs_tui.widgets.panel import Panel

NAME_CELLS = 16
SHORT_NAME_CELLS = 11
NARROW = 32
"""Cells of the panel below which the short names are taken."""
MARGIN = 1
"""Rows that stay in sight above and below the selected one."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """What one line says. `before` is the value of the config where another one is asked about."""

    key: str
    name: str
    short: str
    value: str
    before: str | None = None
    description: str = ""


class SettingList(Panel):
    """Show rows with `show`; `selected` is the place of the marked one."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rows: tuple[SettingRow, ...] = ()
        self.selected = 0
        self._first = 0
        self._tail = ""

    def show(self, rows: tuple[SettingRow, ...], tail: str = "") -> None:
        """Show these settings; `tail` stands in the lower edge of the frame."""
        if (rows, tail) != (self.rows, self._tail):
            self.rows, self._tail = rows, tail
            self.selected = min(self.selected, max(len(rows) - 1, 0))
            self.redraw()

    def select(self, place: int) -> None:
        """Mark another one."""
        self.selected = min(max(place, 0), max(len(self.rows) - 1, 0))
        self.redraw()

    @property
    def chosen(self) -> SettingRow | None:
        """The marked one."""
        return self.rows[self.selected] if self.rows else None

    def title(self) -> Line:
        return line(("settings", "title"))

    def value(self) -> Line:
        changed = sum(row.before is not None for row in self.rows)
        return line((f"* {changed} changed", "key")) if changed else ()

    def summary(self) -> Sequence[Line]:
        chosen = self.chosen
        tail = line((self._tail, "dim"))
        if chosen is None or chosen.before is None:
            return [tail]
        before = line(("was ", "dim"), (plain(chosen.before), "text"))
        return [joined([before, tail], " · "), before]

    def brief(self, width: int) -> Line:
        return self._row(self.selected, width) if self.rows else self.title()

    def body(self, width: int, height: int) -> Sequence[Line]:
        help_rows = self._help(width, height)
        room = height - len(help_rows)
        self._keep_in_sight(room)
        rows = [self._row(place, width) for place in range(len(self.rows))][self._first : self._first + room]
        return [*rows, *[()] * (room - len(rows)), *help_rows]

    def _help(self, width: int, height: int) -> list[Line]:
        """What the marked key does, where all rows leave room for it."""
        spare = height - len(self.rows) - 1
        chosen = self.chosen
        if chosen is None or spare < 2:
            return []
        head = [line((chosen.key, "key"))] if "." in chosen.key else []
        return [(), *head, *wrapped_into(plain(chosen.description), width, min(spare - len(head), 6), "dim")]

    def _keep_in_sight(self, room: int) -> None:
        margin = min(MARGIN, max((room - 1) // 2, 0))
        lowest, highest = self.selected + margin - room + 1, self.selected - margin
        self._first = min(max(self._first, lowest), highest)
        self._first = min(max(self._first, 0), max(len(self.rows) - room, 0))

    def _row(self, place: int, width: int) -> Line:
        row = self.rows[place]
        chosen = place == self.selected
        narrow = width < NARROW
        role: Role = "value" if chosen else "text"
        name = fit(line((row.short if narrow else row.name, role)), SHORT_NAME_CELLS if narrow else NAME_CELLS)
        marker = line(("› " if chosen else "  ", "focus"), ("* " if row.before is not None else "  ", "key"))
        arrows = ("‹ ", " ›") if chosen and self.has_focus else ("", "")
        value = line((plain(row.value), role))
        room = width - line_width((*marker, *name)) - len("".join(arrows))
        value = fit(value, room) if line_width(value) > room else value
        shown: Line = (*marker, *name, *line((arrows[0], "focus")), *value, *line((arrows[1], "focus")))
        before = line((f"  was {plain(row.before)}", "dim")) if row.before is not None else ()
        return (*shown, *before) if line_width(shown) + line_width(before) <= width else shown
