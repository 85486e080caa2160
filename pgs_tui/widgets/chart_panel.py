"""A panel with a live curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgs_tui.drawing.lines import Line, Role, line
from pgs_tui.widgets.panel import Panel

if TYPE_CHECKING:  # the first frame has no curve
    from pgs_tui.drawing.axes import Limits
    from pgs_tui.drawing.chart import Curves, LiveChart

ROOM_FOR_NOTE = 40


@dataclass(frozen=True, slots=True)
class ChartView:
    """What a chart panel shows. `curves` reduces the data to the number of columns that it is asked for."""

    curves: Callable[[int], Curves] | None = None
    value: str = ""
    value_role: Role = "value"
    note: str = ""
    short_note: str = ""
    """What of the note a narrow panel has room for."""
    summary: tuple[str, ...] = ()
    """The same in shorter and shorter words."""
    empty: str = "waiting for the first step"
    """What is said in place of a curve."""


class ChartPanel(Panel):
    """Keeps its limits from one update to the next, so that the curve moves only when it must."""

    def __init__(self, name: str, *, id: str) -> None:
        super().__init__(id=id)
        self.label = name
        self.log_axis = False
        self._view = ChartView()
        self._limits: Limits | None = None
        self._chart: LiveChart | None = None
        self._body: Sequence[Line] = ()
        self._body_key: tuple[object, ...] = ()

    def show(self, view: ChartView) -> None:
        """Show another state of the data."""
        self._view = view
        self._body_key = ()
        self.redraw()

    def toggle_log_axis(self) -> None:
        """Equal distances for equal factors, and back."""
        self.log_axis = not self.log_axis
        self._limits = None
        self.redraw()

    def title(self) -> Line:
        is_wide = self.size.width >= ROOM_FOR_NOTE
        note = self._view.note if is_wide else self._view.short_note
        note = (" · " if is_wide else " ").join(part for part in (note, "log" if self.log_axis else "") if part)
        return line((self.label, "title"), (f"{'  ' if is_wide else ' '}{note}" if note else "", "dim"))

    def value(self) -> Line:
        return line((self._view.value, self._view.value_role))

    def summary(self) -> Sequence[Line]:
        return [line((words, "dim")) for words in self._view.summary]

    def body(self, width: int, height: int) -> Sequence[Line]:
        view = self._view
        if view.curves is None:
            return _in_the_middle(view.empty, width, height)
        key = (width, height, self.glyphs, self.log_axis)
        if key != self._body_key:  # else only the frame differs, as when the focus comes or goes
            self._body_key, self._body = key, self._curve(view.curves, width, height)
        return self._body

    def _curve(self, curves_of: Callable[[int], Curves], width: int, height: int) -> Sequence[Line]:
        from pgs_tui.drawing.chart import LiveChart, dot_columns, limits_of

        curves = curves_of(dot_columns(width, height, self.glyphs))
        self._limits = limits_of(curves, self.log_axis, self._limits)
        self._chart = self._chart or LiveChart()
        return self._chart.draw(curves, width, height, self._limits, self.glyphs)


def _in_the_middle(text: str, width: int, height: int) -> list[Line]:
    if len(text) > width:
        return []
    blank: list[Line] = [()] * ((height - 1) // 2)
    return [*blank, line((" " * ((width - len(text)) // 2), "text"), (text, "dim"))]
