"""Where the memory goes: the accelerator's by component, or the process's own without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgs_tui.drawing.lines import Line, Span, first_fitting, fit, joined, line, line_width, wrapped
from pgs_tui.format import gib
from pgs_tui.widgets.bars import Part, bar, stacked_bar, with_mark
from pgs_tui.widgets.panel import Panel

SHORTEST_BAR = 10
SHORTEST_BAR_BESIDE_WORDS = 24
AMOUNT_CELLS = 7


@dataclass(frozen=True, slots=True)
class MemoryView:
    """`total`, the parts and the `estimate` of their peak in GiB; `readings` are further numbers with their names."""

    title: str = "memory"
    device: str = ""
    parts: tuple[Part, ...] = ()
    used: float | None = None
    total: float | None = None
    estimate: float | None = None
    readings: tuple[tuple[str, str], ...] = ()
    alarm: str = ""
    expected: str = ""
    """What the peak was expected to consist of, in words."""
    others: tuple[tuple[str, float, float | None], ...] = ()
    """Further cards: name, used and total."""
    empty: str = "no reading yet"
    """What to say where nothing is known."""


class MemoryPanel(Panel):
    """One stacked bar, with a mark where its peak was expected to end, its legend and the numbers behind it."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.plain_colours = False
        """Whether the terminal has only its own few colours, or none."""
        self._view = MemoryView()

    def show(self, view: MemoryView) -> None:
        """Show another state of the memory."""
        self._view = view
        self.redraw()

    def title(self) -> Line:
        device = f"  {self._view.device}" if self._view.device else ""
        return line((self._view.title, "title"), (device, "dim"))

    def value(self) -> Line:
        if self._view.used is None:
            return ()
        total = f" / {gib(self._view.total)}" if self._view.total else ""
        return line((f"{gib(self._view.used)}{total} GiB", "value"))

    def summary(self) -> Sequence[Line]:
        alarm = line((self._view.alarm, "warn"))
        shorter = [self._readings(count) for count in range(len(self._view.readings), 0, -1)]
        return [joined([alarm, shorter[0]]), *([alarm] if alarm else shorter)] if shorter else [alarm]

    def brief(self, width: int) -> Line:
        if self._view.used is None:
            return joined([self.title()[:1], line((self._view.empty, "dim"))], "  ")
        head = [self.title()[:1], self.value()]
        return first_fitting([joined([*head, form], "  ") for form in (*self.summary(), ())], width)

    def body(self, width: int, height: int) -> Sequence[Line]:
        view = self._view
        if view.used is None:
            return [line((view.empty, "dim"))]
        if height > len(view.parts) + 1 and view.parts:
            return [self._bar(width), *self._part_rows(width), *self._more(width)]
        legend = self._legend()
        beside = width - line_width(legend) - 3
        if height >= 2 or beside < SHORTEST_BAR_BESIDE_WORDS:
            return [self._bar(width), legend]
        return [joined([self._bar(beside), legend])]

    @property
    def _in_letters(self) -> bool:
        """Where colours do not tell the parts."""
        return self.glyphs == "ascii" or self.plain_colours

    def _bar(self, width: int) -> Line:
        view = self._view
        whole = view.total or sum(part.amount for part in view.parts)
        bar = stacked_bar(view.parts, whole, width, self._in_letters)
        return bar if view.estimate is None or not whole else with_mark(bar, view.estimate / whole)

    def _part_rows(self, width: int) -> list[Line]:
        """A row for each part: its name, how much it is, and its share as a bar."""
        view = self._view
        whole = view.total or sum(part.amount for part in view.parts)
        names = max(line_width(line((part.name, "text"))) for part in view.parts) + 2
        room = width - names - AMOUNT_CELLS - 2
        rows: list[Line] = []
        for part in view.parts:
            sign = part.sign if self._in_letters else "■"
            name = fit(line((f"{sign} ", part.role), (part.name, "dim")), names + 1)
            amount = line((gib(part.amount).rjust(AMOUNT_CELLS - 1) + " ", "text"))
            share = bar(part.amount / whole, room) if room >= SHORTEST_BAR and whole > 0 else ""
            rows.append((*name, *amount, *line((share, part.role))))
        return rows

    def _more(self, width: int) -> list[Line]:
        """What there is besides, for as many rows as are left: the readings that an alarm displaced, and so on."""
        view = self._view
        rows = [self._readings(len(view.readings))] if view.alarm else []
        rows += wrapped(view.expected, width, "dim")
        for name, used, total in view.others:
            words = f"{name}  {gib(used)}" + (f" / {gib(total)}" if total else "") + " GiB "
            room = width - len(words) - 1
            share = bar(used / total, room) if total and room >= SHORTEST_BAR else ""
            rows.append(line((words, "text"), (share, "series-1")))
        return rows

    def _legend(self) -> Line:
        spans: list[Span] = []
        for part in self._view.parts:
            spans += [(" ", "text")] if spans else []
            spans += [
                (f"{part.sign if self._in_letters else '■'} ", part.role),
                (f"{part.name} ", "dim"),
                (f"{gib(part.amount)} ", "text"),
            ]
        return tuple(spans)

    def _readings(self, count: int) -> Line:
        spans: list[Span] = []
        for name, reading in self._view.readings[:count]:
            spans += [(" · ", "dim")] if spans else []
            spans += [(f"{name} " if name else "", "dim"), (reading, "text")]
        return tuple(spans)
