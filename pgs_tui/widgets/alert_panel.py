"""The incidents of a run, newest first; the selected one with what it means and what to try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pgs_tui.drawing.lines import Line, Role, joined, line, line_width, wrapped
from pgs_tui.drawing.severities import SIGNS
from pgs_tui.format import plain, rows
from pgs_tui.incident_words import meaning, measured
from pgs_tui.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.geometry import Size

    from engine.events import Advice
    from engine.incidents import Incident

INDENT = "    "
EDGES, SIDES = 2, 4
"""Lines and cells that the frame takes."""
NEIGHBOURS = 2
"""Other incidents that are shown around the selected one, where there are some."""


class AlertPanel(Panel):
    """`select` walks the incidents and `close` ends the walk; without a selection the newest is explained.

    With one the panel wants, where its height is automatic, as many lines as that incident and its neighbours take.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._incidents: tuple[Incident, ...] = ()
        self._selected: str | None = None

    @property
    def selected(self) -> Incident | None:
        """The incident that `select` went to."""
        return next((one for one in self._incidents if one.id == self._selected), None)

    @property
    def newest(self) -> Incident | None:
        """The incident that is explained while none is selected: the newest that is open, else the newest of all."""
        newest_open = next((one for one in reversed(self._incidents) if one.open), None)
        return newest_open or (self._incidents[-1] if self._incidents else None)

    def show(self, incidents: tuple[Incident, ...]) -> None:
        """Show these incidents, given oldest first."""
        changed, self._incidents = incidents != self._incidents, incidents
        self.redraw()
        if changed and self.selected:
            self.refresh(layout=True)

    def select(self, step: int) -> Incident | None:
        """Go `step` incidents forward in time (or back, when negative), around the ends; returns that one.

        The first one selected is the newest.
        """
        if not self._incidents:
            return None
        ids = [one.id for one in self._incidents]
        chosen = self.selected
        self._selected = ids[(ids.index(chosen.id) + step) % len(ids)] if chosen else ids[-1]
        self.redraw()
        self.refresh(layout=True)
        return self.selected

    def choose(self, id: str) -> Incident | None:
        """Select the incident of that name; returns it, None where it is not among them."""
        self._selected = id
        self.redraw()
        self.refresh(layout=True)
        return self.selected

    def close(self) -> None:
        """Select none."""
        self._selected = None
        self.redraw()
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The selected incident in full, and its neighbours."""
        chosen = self.selected
        lines = 1 + len(self._explanation(chosen, width - SIDES)) if chosen else 1
        return lines + min(len(self._incidents) - 1, NEIGHBOURS) + EDGES if chosen else lines + EDGES

    def summary(self) -> Sequence[Line]:
        if self.selected is None:
            return []
        rows = "Enter its rows · " if self.selected.rows else ""
        write = "w write a config · " if any(one.value is not None for one in self.selected.advice) else ""
        keys = f"{rows}{write}a A other alerts · Esc close"
        return [line((keys, "dim")), line((keys.replace(" other alerts", "").replace(" a config", ""), "dim"))]

    def title(self) -> Line:
        return line((f"alerts ({len(self._incidents)})" if self._incidents else "alerts", "title"))

    def value(self) -> Line:
        unsolved = sum(one.open for one in self._incidents)
        return line((f"{unsolved} open", "warn")) if unsolved else ()

    def brief(self, width: int) -> Line:
        told = self.selected or self.newest
        return joined([self.title(), self._row(told) if told else line(("none", "dim"))], "  ")

    def body(self, width: int, height: int) -> Sequence[Line]:
        if not self._incidents:
            return [line(("none", "dim"))]
        if not self.framed or height < 1:
            return self._explanation(self.selected or self._incidents[-1], width)[:height]
        newest_first = self._incidents[::-1]
        chosen = self.selected or self.newest or newest_first[0]
        place = newest_first.index(chosen)
        explained = [self._row(chosen), *self._explanation(chosen, width)]
        room = max(height - len(explained), 0)
        above = min(place, max(room // 2, room - (len(newest_first) - place - 1)))
        before, after = newest_first[place - above : place], newest_first[place + 1 : place + 1 + room]
        return [*map(self._row, before), *explained, *map(self._row, after)][:height]

    def _row(self, one: Incident) -> Line:
        sign, role = SIGNS.get(one.severity, SIGNS["warning"])
        marker: Role = "focus" if one.id == self._selected else "text"
        where = line((f" {one.step}", "text")) if one.step is not None else ()
        what = line((plain(one.title), role), (f" × {one.count}" if one.count > 1 else "", "text"))
        state = line(("" if one.open else "over", "dim"))
        data = line((f"rows {rows(one.rows)}" if one.rows else "", "dim"))
        row = joined([line((sign, role), *where), what, line((measured(one), "text")), data, state], "  ")
        return line(("› " if one.id == self._selected else "", marker), *row)

    def _explanation(self, one: Incident, width: int) -> list[Line]:
        room = max(width - len(INDENT), 1)
        told = [line((INDENT, "text"), *row) for row in wrapped(plain(meaning(one)), room, "text")]
        return told + [row for hint in one.advice for row in _advised(hint, room)]


def _advised(hint: Advice, room: int) -> list[Line]:
    """The key to try with those that go with it, and why: behind it where that fits, else below it."""
    if hint.value is None and not hint.also and hint.why:  # what the run has there is not known
        key, why = plain(hint.key), plain(hint.why)
    else:
        also = "".join(f", {other}: {_as_yaml(given)}" for other, given in hint.also)
        key, why = plain(f"{hint.key}: {_as_yaml(hint.value)}{also}"), plain(hint.why)
    head = line((f"{INDENT}try ", "dim"), (key, "accent"))
    whole = line(*head, (f"  {why}" if why else "", "dim"))
    if line_width(whole) <= room + len(INDENT):
        return [whole]
    below = wrapped(why, max(room - len(INDENT), 1), "dim")
    heads = [head] if line_width(head) <= room + len(INDENT) else _broken(key, room)
    return [*heads, *[line((INDENT * 2, "text"), *row) for row in below]]


def _broken(key: str, room: int) -> list[Line]:
    """A key with others behind it that is longer than the line."""
    lines = wrapped(key, max(room - len("try "), 1), "accent")
    return [line((f"{INDENT}try " if place == 0 else INDENT * 2, "dim"), *row) for place, row in enumerate(lines)]


def _as_yaml(scalar: object) -> str:
    """As one writes it in a config."""
    if scalar is None:
        return "null"
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
