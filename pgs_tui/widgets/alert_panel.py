"""The incidents of a run, newest first; the selected one with what it means and what to try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pgs_tui.format import plain, rows, value
from pgs_tui.widgets.lines import Line, Role, joined, line, wrapped
from pgs_tui.widgets.panel import Panel

if TYPE_CHECKING:
    from pgs_tui.runs.incidents import Incident

SIGNS: dict[str, tuple[str, Role]] = {
    "info": ("·", "dim"),
    "warning": ("▲", "warn"),
    "error": ("✖", "bad"),
    "critical": ("✖", "bad"),
}
"""A sign and a role for each severity, so that no state is told by colour alone."""


class AlertPanel(Panel):
    """`select` walks the incidents; without a selection the newest is explained."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._incidents: tuple[Incident, ...] = ()
        self._selected: str | None = None

    @property
    def selected(self) -> Incident | None:
        """The incident that `select` went to."""
        return next((one for one in self._incidents if one.id == self._selected), None)

    def show(self, incidents: tuple[Incident, ...]) -> None:
        """Show these incidents, given oldest first."""
        self._incidents = incidents
        self.redraw()

    def select(self, step: int) -> Incident | None:
        """Go `step` incidents forward in time (or back, when negative), around the ends; returns that one."""
        if not self._incidents:
            return None
        ids = [one.id for one in self._incidents]
        start = ids.index(self._selected) if self._selected in ids else (-1 if step > 0 else 0)
        self._selected = ids[(start + step) % len(ids)]
        self.redraw()
        return self.selected

    def title(self) -> Line:
        return line((f"alerts ({len(self._incidents)})" if self._incidents else "alerts", "title"))

    def value(self) -> Line:
        unsolved = sum(one.open for one in self._incidents)
        return line((f"{unsolved} open", "warn")) if unsolved else ()

    def brief(self, width: int) -> Line:
        newest = self.selected or (self._incidents[-1] if self._incidents else None)
        return joined([self.title(), self._row(newest) if newest else line(("none", "dim"))], "  ")

    def body(self, width: int, height: int) -> Sequence[Line]:
        if not self._incidents:
            return [line(("none", "dim"))]
        if not self.framed or height < 1:
            return self._explanation(self.selected or self._incidents[-1], width)[:height]
        newest_first = self._incidents[::-1]
        chosen = self.selected or newest_first[0]
        place = newest_first.index(chosen)
        first = max(min(place - height // 2, len(newest_first) - height), 0)
        listed: list[Line] = []
        for one in newest_first[first:]:
            listed.append(self._row(one))
            if one is chosen:
                listed += self._explanation(one, width)
        return _window(listed, place - first, height)

    def _row(self, one: Incident) -> Line:
        sign, role = SIGNS.get(one.severity, SIGNS["warning"])
        marker: Role = "focus" if one.id == self._selected else "text"
        where = line((f"{one.step}", "text")) if one.step is not None else ()
        what = line((plain(one.title), role), (f" × {one.count}" if one.count > 1 else "", "text"))
        state = line(("" if one.open else "over", "dim"))
        data = line((f"rows {rows(one.rows)}" if one.rows else "", "dim"))
        row = joined([line((sign, role), (" ", "text"), *where), what, _measured(one), data, state], "  ")
        return line(("› " if one.id == self._selected else "", marker), *row)

    def _explanation(self, one: Incident, width: int) -> list[Line]:
        advice = [
            line(
                ("    try ", "dim"),
                (plain(f"{hint.key}: {_as_yaml(hint.value)}"), "accent"),
                (plain(f"  {hint.why}"), "dim"),
            )
            for hint in one.advice
        ]
        meaning = wrapped(plain(one.meaning), max(width - 4, 1), "text")
        return [*[line(("    ", "text"), *row) for row in meaning], *advice]


def _as_yaml(scalar: object) -> str:
    """As one writes it in a config."""
    if scalar is None:
        return "null"
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)


def _measured(one: Incident) -> Line:
    if one.value is None:
        return ()
    usually = f", usually {value(one.baseline)}" if one.baseline is not None else ""
    return line((f"{value(one.value)}{usually}", "text"))


def _window(listed: list[Line], chosen: int, height: int) -> list[Line]:
    """`height` lines with the chosen one, and as much as fits of its explanation, in view."""
    if chosen >= height:
        listed = listed[chosen - height + 1 :]
    return listed[:height]
