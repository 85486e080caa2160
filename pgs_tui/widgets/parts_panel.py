"""Where the time goes over the steps: each column of the chart is divided among the parts of its seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgs_tui.drawing.lines import Line, Role, Span, first_fitting, joined, line
from pgs_tui.format import percent
from pgs_tui.widgets.panel import Panel

if TYPE_CHECKING:  # the first frame has no curve
    from pgs_tui.drawing.plot_frame import Sight
    from pgs_tui.history.part_reducer import PartColumns
    from pgs_tui.history.step_parts import PartName


@dataclass(frozen=True, slots=True)
class PartLook:
    """How a part is drawn: its letter, where colours do not tell, its ink, and its names."""

    letter: str
    role: Role
    words: str
    short: str


LOOKS: dict[PartName, PartLook] = {
    "data": PartLook("D", "series-4", "data wait", "data"),
    "forward": PartLook("F", "series-1", "forward", "fwd"),
    "backward": PartLook("B", "series-2", "backward", "bwd"),
    "optimizer": PartLook("O", "series-3", "optimizer", "opt"),
    "gc": PartLook("G", "series-5", "garbage", "gc"),
    "other": PartLook("-", "series-8", "other", "other"),
    "eval": PartLook("E", "series-6", "eval", "eval"),
    "checkpoint": PartLook("C", "series-7", "checkpoint", "ckpt"),
}
"""From the bottom of a column to its top."""
LEAST_TOLD = 0.005
"""Shares below this are not named."""


@dataclass(frozen=True, slots=True)
class PartsView:
    """`columns` gives the seconds by part in as many columns as it is asked for; `shares` are those told in words."""

    columns: Callable[[int], PartColumns] | None = None
    sight: Sight | None = None
    shares: tuple[tuple[PartName, float], ...] = ()
    value: str = ""
    """What the shares are about: the recent steps, or the one at the cursor."""
    empty: str = "waiting for the first step"


class PartsPanel(Panel):
    """Stacked shares. Letters stand in place of colours in ASCII, and where the terminal has its own few colours."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.plain_colours = False
        """Whether the terminal has only its own few colours, or none."""
        self._view = PartsView()
        self._body: list[Line] = []
        self._body_key: tuple[object, ...] = ()
        self._how: tuple[object, ...] = ()
        self._divided: list[tuple[float, ...]] = []
        """The seconds of each column that is drawn, by part as in LOOKS."""
        self._stacks: list[list[Span]] = []
        """Its cells."""

    def show(self, view: PartsView) -> None:
        """Show another state of the data."""
        self._view, self._body_key = view, ()
        self.redraw()

    def title(self) -> Line:
        return line(("time parts", "title"))

    def value(self) -> Line:
        return line((self._view.value, "dim"))

    def summary(self) -> Sequence[Line]:
        told = [(LOOKS[part], share) for part, share in self._view.shares if share >= LEAST_TOLD]
        largest = sorted(told, key=lambda one: -one[1])[:3]
        return [
            self._legend(told, long=True),
            self._legend(told),
            self._legend([one for one in told if one in largest]),
        ]

    def brief(self, width: int) -> Line:
        return first_fitting([joined([self.title(), form], "  ") for form in (*self.summary(), ())], width)

    def body(self, width: int, height: int) -> Sequence[Line]:
        view = self._view
        from pgs_tui.drawing.plot_frame import in_the_middle

        if view.columns is None or view.sight is None:
            return in_the_middle(view.empty, width, height)
        key = (width, height, self._in_letters)
        if key != self._body_key:
            self._body_key, self._body = key, self._chart(view.columns, view.sight, width, height)
        return self._body

    @property
    def _in_letters(self) -> bool:
        return self.glyphs == "ascii" or self.plain_colours

    def _legend(self, told: Sequence[tuple[PartLook, float]], long: bool = False) -> Line:
        words = [
            line(
                (look.letter if self._in_letters else "■", look.role),
                (f" {look.words if long else look.short} {percent(share)[:-2]}", "dim"),
            )
            for look, share in told
        ]
        return (*joined(words, "  " if long else " "), (" %", "dim")) if words else ()

    def _chart(self, columns_of: Callable[[int], PartColumns], sight: Sight, width: int, height: int) -> list[Line]:
        """All of it; the same lines as the last time where no column is divided otherwise."""
        from pgs_tui.drawing.axes import Limits, canvas_size
        from pgs_tui.drawing.plot_frame import framed

        inner_width, inner_height = canvas_size(width, height)
        seconds = columns_of(inner_width).seconds
        divided = list(zip(*(seconds[part] for part in LOOKS), strict=True))
        how = (width, height, sight, self._in_letters)
        is_other = how != self._how
        if is_other:
            self._how, self._divided, self._stacks = how, [()] * inner_width, [[]] * inner_width
        before, cursor = self._stacks, sight.column(inner_width)
        self._stacks = [
            stack if amounts == known else self._stack(amounts, inner_height, place == cursor)
            for place, (amounts, known, stack) in enumerate(zip(divided, self._divided, before, strict=True))
        ]
        self._divided = divided
        if self._stacks == before and not is_other:
            return self._body
        rows = [[stack[row] for stack in self._stacks] for row in reversed(range(inner_height))]
        return framed(rows, width, height, sight, Limits(0.0, 100.0))

    def _stack(self, amounts: tuple[float, ...], height: int, at_cursor: bool) -> list[Span]:
        """One column from its bottom to its top, every border where it belongs, to a cell. `amounts` as in LOOKS."""
        whole = sum(amounts)
        if whole <= 0:
            return [("│" if at_cursor else " ", "accent" if at_cursor else "text")] * height
        cells: list[Span] = []
        reached = 0.0
        for amount, look in zip(amounts, LOOKS.values(), strict=True):
            reached += amount
            count = round(reached / whole * height) - len(cells)
            if count > 0:
                lettered = at_cursor or self._in_letters
                cells += [(look.letter if lettered else "█", "cursor" if at_cursor else look.role)] * count
        return cells + [(" ", "text")] * (height - len(cells))
