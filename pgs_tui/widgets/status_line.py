"""The first line of the screen: which run, how far, how long still, in what state, how old the news is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgs_tui.drawing.lines import Line, Role, fit, joined, line, line_width, spread
from pgs_tui.format import duration, percent, plain, whole
from pgs_tui.widgets.bars import progress_bar
from pgs_tui.widgets.drawn import Drawn

BAR_CELLS = (18, 12, 8, 0)
"""Lengths that the progress bar may have; the longest that fits is taken."""
NARROWEST_NAME = 12
"""Cells of a long name that are shown in any case, but in the narrowest terminals."""


@dataclass(frozen=True, slots=True)
class Status:
    """Everything the line can say. `sign` and `state` tell the state without colour."""

    name: str = ""
    state: str = "starting"
    sign: str = "○"
    role: Role = "dim"
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    remaining: float | None = None
    age: str = ""
    age_role: Role = "dim"
    held: bool = False
    seen: str = ""
    """What of the run the charts show, where that is not all of it."""
    where: str = ""
    """The other machine where the run is."""
    readonly: bool = False


class StatusLine(Drawn):
    """Leaves out the least important parts where there is no room, and keeps every field at a steady width."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._status = Status()

    def show(self, status: Status) -> None:
        """Show another status; nothing is repainted when nothing changed."""
        if status != self._status:
            self._status = status
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Line]:
        return [self._best(width - 2)]

    def _best(self, width: int) -> Line:
        """The richest form that fits; None stands for the way so far, whose bar may shrink."""
        state, age, short_age = self._state(), self._age(), self._age(short=True)
        bare = self._state(bare=True)
        name, short_name = self._run_name(max(width // 4, NARROWEST_NAME)), self._run_name(NARROWEST_NAME)
        where = line((plain(self._status.where), "dim")) if self._status.where else ()
        brand = line(("pgs-tui", "dim"))
        for parts, right in (
            ([brand, name, where, None, self._epoch(), self._left()], [state, age]),
            ([name, where, None, self._epoch(), self._left()], [state, age]),
            ([name, where, None, self._left()], [state, age]),
            ([name, None, self._left()], [state, age]),
            ([name, None, self._left()], [state, short_age]),
            ([short_name, None, self._left()], [state, short_age]),
            ([name, None, self._left()], [bare, short_age]),
            ([short_name, None, self._left()], [bare, short_age]),
            ([name, None], [bare, age]),
            ([name, self._step()], [bare, short_age]),
            ([short_name, self._step()], [bare, short_age]),
            ([short_name, self._step()], [bare]),
            ([self._step()], [bare]),
        ):
            for cells in BAR_CELLS:
                left = joined([self._way(cells) if part is None else part for part in parts])
                end = joined(right)
                if line_width(left) + line_width(end) + 3 <= width:
                    return line((" ", "text"), *spread(left, end, width))
        return line((" ", "text"), *fit(joined([self._step(), bare], " "), width))

    def _run_name(self, most: int) -> Line:
        name = line((plain(self._status.name), "title"))
        return name if line_width(name) <= most else fit(name, most)

    def _step(self) -> Line:
        if self._status.step is None:
            return ()
        total = whole(self._status.total) if self._status.total else ""
        step = whole(self._status.step).rjust(len(total))
        return line(("step ", "dim"), (step, "value"), (f"/{total}" if total else "", "dim"))

    def _way(self, cells: int) -> Line:
        step, total = self._status.step, self._status.total
        if step is None or not total:
            return self._step()
        share = percent(step / total).rjust(5)
        return joined([self._step(), progress_bar(step / total, cells), line((share, "text"))], " ")

    def _epoch(self) -> Line:
        return line(("epoch ", "dim"), (f"{self._status.epoch:.2f}", "text")) if self._status.epoch is not None else ()

    def _left(self) -> Line:
        if self._status.remaining is None:
            return ()
        return line(("ETA ", "dim"), (duration(self._status.remaining).ljust(8), "text"))

    def _state(self, bare: bool = False) -> Line:
        held = line(("‖ view held", "warn")) if self._status.held else ()
        readonly = line(("read only", "accent")) if self._status.readonly else ()
        seen = line((self._status.seen, "accent")) if self._status.seen and not bare else ()
        return joined([readonly, held, seen, line((f"{self._status.sign} {self._status.state}", self._status.role))])

    def _age(self, short: bool = False) -> Line:
        text = self._status.age.removeprefix("data ") if short else self._status.age
        return line((text, self._status.age_role))
