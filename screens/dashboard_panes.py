"""The dashboard's panes: what stands where."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Resize
from textual.screen import Screen

from pgs_tui.keys import hints_of
from pgs_tui.look import Look
from pgs_tui.widgets.alert_panel import AlertPanel
from pgs_tui.widgets.banner import Banner
from pgs_tui.widgets.chart_panel import ChartPanel
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.log_panel import LogPanel
from pgs_tui.widgets.memory_panel import MemoryPanel
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.status_line import StatusLine

STYLE_SHEET = Path(__file__).with_name("dashboard.tcss")
FRAMED_LOG_LINES = 20


def size_classes(width: int, height: int) -> dict[str, bool]:
    """The classes under which the style sheet knows a terminal of this size."""
    return {
        "-thin": width < 50,
        "-flat": height < 12,
        "-short": 12 <= height < 20,
        "-middle": 20 <= height < 32,
        "-tall": height >= 32,
    }


class DashboardPanes(Screen[None], inherit_bindings=False):
    """The widgets, and where they stand in a terminal of any size."""

    CSS_PATH: ClassVar = STYLE_SHEET
    AUTO_FOCUS = ""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look
        self._make_widgets()

    def _make_widgets(self) -> None:
        self.status_line = StatusLine(id="status")
        self.banner = Banner(id="banner")
        self.charts = tuple(
            ChartPanel(name, id=chart)
            for chart, name in (("loss", "loss"), ("grad_norm", "grad norm"), ("tok_s", "tok/s"), ("dt", "dt"))
        )
        self.memory = MemoryPanel(id="memory")
        self.alerts = AlertPanel(id="alerts")
        self.log_panel = LogPanel(id="log")
        self.key_bar = KeyBar(hints_of("dashboard"), id="keys")
        for drawn in self.drawn:
            drawn.glyphs = self.look.glyphs

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The panes, in the order of the digits that toggle them."""
        return *self.charts, self.memory, self.alerts, self.log_panel

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Everything on the screen from top to bottom."""
        return self.status_line, self.banner, *self.panels, self.key_bar

    def compose(self) -> ComposeResult:
        self.update_classes(size_classes(*self.app.size), update=False)  # styles are worked out once, not twice
        yield self.status_line
        yield self.banner
        yield Horizontal(*self.charts[:2], id="curves", classes="row")
        yield Horizontal(*self.charts[2:], id="rates", classes="row")
        yield self.memory
        yield self.alerts
        yield self.log_panel
        yield self.key_bar

    def on_resize(self, event: Resize) -> None:
        self.log_panel.framed = event.size.height >= FRAMED_LOG_LINES
        self.update_classes(size_classes(*event.size))
