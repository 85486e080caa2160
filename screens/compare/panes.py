"""The panes of a comparison: what stands where, and what is drawn in them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Resize
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from pgs_tui.appearance.look import Look
from pgs_tui.comparing.comparison import Comparison
from pgs_tui.comparing.table import wording_of
from pgs_tui.drawing.lines import Role
from pgs_tui.key_tables.compare import COMPARE, OF_CURVES
from pgs_tui.keys import hints_of
from pgs_tui.widgets.chart_panel import ChartPanel
from pgs_tui.widgets.difference_panel import DifferencePanel
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.run_table import RunTable
from pgs_tui.widgets.status_line import StatusLine
from screens.compare.reading import chart_of, heads_of, place_words, row_of, status_of

STYLE_SHEET = Path(__file__).with_name("compare.tcss")
MESSAGE_SECONDS = 8.0
MORE = 3
"""How many further metrics have a small chart where there is room."""
TALL, WIDE = 34, 130
BETWEEN_CHARTS = 0.001
SHARE_OF_RUNS = 0.45
"""The part of the lines that the list of runs may take."""


class ComparePanes(Screen[None], inherit_bindings=False):
    """The curves above, below them the runs, and what differs in their configs. `show_now` shows what is known."""

    CSS_PATH: ClassVar = STYLE_SHEET
    AUTO_FOCUS = ""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As every screen has it, but the panes alone repaint when the focus moves, and not the whole screen."""

    def __init__(self, comparison: Comparison, look: Look) -> None:
        super().__init__()
        self.comparison = comparison
        self.look = look
        self._message_timer: Timer | None = None
        self._waiting: list[tuple[ChartPanel, str]] = []
        self._chart_timer: Timer | None = None
        self._drawing = False
        self.status_line = StatusLine(id="status")
        self.chart = ChartPanel("loss", id="metric")
        self.more = tuple(ChartPanel("", id=f"more-{number}") for number in range(MORE))
        self.table = RunTable(id="runs")
        self.differences = DifferencePanel(id="differences")
        self.below = Container(self.table, self.differences, id="below")
        self.key_bar = KeyBar(_hints(False), id="keys")
        for drawn in self.drawn:
            drawn.glyphs = look.glyphs

    @property
    def panes(self) -> tuple[Panel, ...]:
        """What can have the focus, in order."""
        return self.table, self.differences

    @property
    def charts(self) -> tuple[ChartPanel, ...]:
        """The large one first."""
        return self.chart, *self.more

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Everything on the screen from top to bottom."""
        return self.status_line, *self.charts, *self.panes, self.key_bar

    def compose(self) -> ComposeResult:
        for chart in self.charts:
            chart.can_focus = False
        self._fit(*self.app.size)  # styles are worked out once, not twice
        yield self.status_line
        yield Container(self.chart, Container(*self.more, id="more"), id="curves")
        yield self.below
        yield self.key_bar

    def on_resize(self, event: Resize) -> None:
        self._fit(*event.size)
        self.show_now()

    def _fit(self, width: int, height: int) -> None:
        self.update_classes({"-tall": height >= TALL, "-wide": width >= WIDE}, update=False)
        self._place(height)

    def read_differences(self, reading: bool) -> None:
        """What differs in the configs in full, in place of the curves; or the curves again."""
        self.set_class(reading, "-differences")
        self.key_bar.offer(_hints(reading))
        self._place(self.app.size.height)

    def _place(self, height: int) -> None:
        """The runs have the lines that they need, but never more than their share."""
        lines = min(len(self.comparison.runs) + 3, max(int(height * SHARE_OF_RUNS), 3))
        reading = self.has_class("-differences")
        self.below.styles.height = "1fr" if reading else lines
        self.table.styles.height = lines if reading else "100%"

    def show_now(self) -> None:
        """Bring everything on the screen up to date."""
        self.status_line.show(status_of(self.comparison))
        self.show_table()
        self.show_charts()

    def show_soon(self) -> None:
        """Show what is looked at now. However many keys come at once, it is drawn once behind them."""
        if not self._drawing:
            self._drawing = True
            self.call_later(self._show)

    def _show(self) -> None:
        self._drawing = False
        self.show_now()

    def show_table(self) -> None:
        """The runs, at the place that is looked at."""
        comparison = self.comparison
        rows = [row_of(comparison, place) for place in range(len(comparison.runs))]
        self.table.show(heads_of(comparison), rows, place_words(comparison))

    def show_charts(self) -> None:
        """The curves: the large chart at once, the others one after the other, with keys in between."""
        shown = [one for one in zip(self.charts, self._metrics(), strict=False) if one[0].display]
        self._waiting = shown[1:]
        for chart, metric in shown[:1]:
            self._show_chart(chart, metric)
        if self._waiting and self._chart_timer is None:
            self._chart_timer = self.set_interval(BETWEEN_CHARTS, self._show_next_chart)
        elif self._waiting and self._chart_timer is not None:
            self._chart_timer.resume()

    def _show_next_chart(self) -> None:
        if self._waiting:
            self._show_chart(*self._waiting.pop(0))
        if not self._waiting and self._chart_timer is not None:
            self._chart_timer.pause()

    def _show_chart(self, chart: ChartPanel, metric: str) -> None:
        chart.label = wording_of(metric).name
        if chart.log_axis != (self.comparison.shown.log and metric != "lr"):
            chart.toggle_log_axis()
        chart.show(chart_of(self.comparison, metric))

    def curve_cells(self) -> int:
        """How many cells the large curve is wide: those that the cursor goes through."""
        from pgs_tui.drawing.axes import canvas_size

        return canvas_size(max(self.chart.size.width - 4, 8), max(self.chart.size.height - 2, 1))[0]

    def say(self, text: str, role: Role = "accent") -> None:
        """Say something in place of the keys, for a while."""
        if self._message_timer is not None:
            self._message_timer.stop()
        self.key_bar.say(text, role)
        self._message_timer = self.set_timer(MESSAGE_SECONDS, self.key_bar.quiet)

    def _metrics(self) -> tuple[str, ...]:
        """The chosen one, then the others in their order."""
        metrics, chosen = self.comparison.metrics, self.comparison.shown.metric
        return chosen, *(one for one in metrics if one != chosen)


def _hints(reading: bool) -> list[tuple[str, str]]:
    """What can be done with the curves; while `reading` what differs there are none, and `d` brings them back."""
    hints = hints_of("compare", going=False)
    if not reading:
        return hints
    of_curves = {entry.shown for entry in COMPARE.does if entry.action in OF_CURVES}
    return [(key, "curves" if key == "d" else hint) for key, hint in hints if key not in of_curves]
