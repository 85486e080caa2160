"""The dashboard's panes: what stands where, by the terminal's size and the person's layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Resize
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from pgs_tui import layout_file
from pgs_tui.appearance.look import Look
from pgs_tui.keys import hints_of
from pgs_tui.layout import Layout
from pgs_tui.panel_names import STRIPS, WORDS, PanelName
from pgs_tui.room import Room, grid_of, size_classes
from pgs_tui.widgets.alert_panel import AlertPanel
from pgs_tui.widgets.banner import Banner
from pgs_tui.widgets.chart_panel import ChartPanel
from pgs_tui.widgets.cursor_line import CursorLine
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.gpu_panel import GpuPanel
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.log_panel import LogPanel
from pgs_tui.widgets.memory_panel import MemoryPanel
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.parts_panel import PartsPanel
from pgs_tui.widgets.rank_panel import RankPanel
from pgs_tui.widgets.status_line import StatusLine

STYLE_SHEET = Path(__file__).with_name("dashboard.tcss")
CHARTS: tuple[PanelName, ...] = ("loss", "grad_norm", "tok_s", "dt", "lr", "moved", "memory_over_steps")
FRAMED_LOG_LINES = 20
HIGHEST_WITH_PLACE = 32
"""Lines below which most charts make room while an alert is read."""


class DashboardPanes(Screen[None], inherit_bindings=False):
    """Change `arrangement` with `rearrange`; a panel that comes into sight is drawn by `panels_changed`."""

    CSS_PATH: ClassVar = STYLE_SHEET
    AUTO_FOCUS = ""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As every screen has it, but the panes alone repaint when the focus moves, and not the whole screen."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.arrangement, self.layout_note = layout_file.load()
        self.several_ranks = False
        self._saving = Lock()
        self.look = look
        self._make_widgets()

    def _make_widgets(self) -> None:
        self.status_line = StatusLine(id="status")
        self.banner = Banner(id="banner")
        self.cursor_line = CursorLine(id="cursor")
        self.parts = PartsPanel(id="parts")
        self.gpus = GpuPanel(id="gpu")
        self.ranks = RankPanel(id="ranks")
        self.memory = MemoryPanel(id="memory")
        self.alerts = AlertPanel(id="alerts")
        self.log_panel = LogPanel(id="log")
        self.panes: dict[PanelName, Panel] = {
            **{name: ChartPanel(WORDS[name], id=name) for name in CHARTS},
            "parts": self.parts,
            "gpu": self.gpus,
            "ranks": self.ranks,
            "memory": self.memory,
            "alerts": self.alerts,
            "log": self.log_panel,
        }
        self.grid, self.strips = Container(id="charts"), Container(id="strips")
        self._draw_axes()
        self.key_bar = KeyBar(hints_of("dashboard"), id="keys")
        self.parts.plain_colours = self.memory.plain_colours = self.look.theme == "terminal"
        for drawn in self.drawn:
            drawn.glyphs = self.look.glyphs

    @property
    def charts(self) -> tuple[ChartPanel, ...]:
        """The panes with a curve, in their order."""
        return tuple(pane for pane in self.panels if isinstance(pane, ChartPanel))

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panes, in their order; many are not displayed."""
        return tuple(self.panes[name] for name in self.arrangement.order)

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Everything on the screen from top to bottom."""
        return self.status_line, self.banner, *self.panels, self.cursor_line, self.key_bar

    def compose(self) -> ComposeResult:
        self._fit(*self.app.size, update=False)  # styles are worked out once, not twice
        yield self.status_line
        yield self.banner
        with self.grid:
            yield from (pane for name, pane in self._in_order() if name not in STRIPS)
        with self.strips:
            yield from (pane for name, pane in self._in_order() if name in STRIPS)
        yield self.cursor_line
        yield self.key_bar

    def on_resize(self, event: Resize) -> None:
        self._fit(*event.size)
        self.panels_changed()

    def rearrange(self, layout: Layout) -> None:
        """Show the panels as this layout wants it, and remember it."""
        before, self.arrangement = self.arrangement, layout
        if layout.order != before.order:
            self._reorder()
        self._draw_axes()
        self._place(*self.app.size)
        if layout != before:
            self.run_worker(self._remember, thread=True, group="layout")
        self.panels_changed()

    def bring(self, panel: PanelName) -> None:
        """Show the panel, among the others."""
        layout = replace(self.arrangement, alone=None)
        shown = panel in layout.visible(self.room)
        self.rearrange(layout if shown else layout.toggled(panel, self.room))

    def compare_ranks(self, several: bool) -> None:
        """Whether there are several ranks, which have a panel of their own."""
        if several != self.several_ranks:
            self.several_ranks = several
            self._place(*self.app.size)

    def read_alert(self, reading: bool) -> None:
        """Make room for an alert in full, or take it back. A panel that is alone stays alone."""
        self.set_class(reading, "-reading")
        if reading and self.arrangement.alone is None:
            self.bring("alerts")
        self._place(*self.app.size)

    def panels_changed(self) -> None:
        """Other panels are on the screen than before, or in other sizes."""

    def note_layout(self) -> None:
        """There is something to say of the layout's file: `layout_note`."""

    @property
    def room(self) -> Room:
        """What there is to fill."""
        return Room(*self.app.size, self.several_ranks)

    def _fit(self, width: int, height: int, update: bool = True) -> None:
        self.update_classes(size_classes(width, height), update=update)
        self.log_panel.framed = height >= FRAMED_LOG_LINES
        self._place(width, height)

    def _place(self, width: int, height: int) -> None:
        """Hide what is not to be seen, and give the rest its place in the grid."""
        room = Room(width, height, self.several_ranks)
        visible = self.arrangement.visible(room)
        charts = self._beside_an_alert([name for name in visible if name not in STRIPS], room)
        shown = {*charts, *(name for name in visible if name in STRIPS)}
        for name, pane in self.panes.items():
            pane.set_class(name not in shown, "hidden")
            pane.set_class(name == self.arrangement.alone, "alone")
            if pane.has_focus and name not in shown:
                self.set_focus(None)
        self.set_class(self.arrangement.alone is not None, "-maximised")
        self.grid.set_class(not charts, "hidden")
        self.strips.set_class(shown.isdisjoint(STRIPS), "hidden")
        self.set_class("log" not in shown, "-logless")
        if charts:
            self._lay_out(charts, room)

    def _lay_out(self, charts: list[PanelName], room: Room) -> None:
        grid = grid_of(len(charts), room)
        self.grid.styles.grid_size_columns = grid.columns
        self.grid.styles.grid_rows = " ".join(grid.rows)
        self.grid.styles.height = len(grid.rows) if set(grid.rows) == {"1"} else None
        for name in charts:
            self.panes[name].styles.column_span = 1
        self.panes[charts[-1]].styles.column_span = grid.columns - (len(charts) - 1) % grid.columns

    def _beside_an_alert(self, charts: list[PanelName], room: Room) -> list[PanelName]:
        """The charts that there is room for while an alert is read."""
        if not self.has_class("-reading") or room.height >= HIGHEST_WITH_PLACE:
            return charts
        return charts[: grid_of(len(charts), room).columns] if room.height >= FRAMED_LOG_LINES else []

    def _draw_axes(self) -> None:
        for name, pane in self.panes.items():
            if isinstance(pane, ChartPanel) and pane.log_axis != (name in self.arrangement.log_axes):
                pane.toggle_log_axis()

    def _in_order(self) -> list[tuple[PanelName, Panel]]:
        return [(name, self.panes[name]) for name in self.arrangement.order]

    def _reorder(self) -> None:
        places = {pane: place for place, (_, pane) in enumerate(self._in_order())}
        for container in (self.grid, self.strips):
            container.sort_children(key=lambda pane: places[cast(Panel, pane)])

    def _remember(self) -> None:
        with self._saving:  # of several threads the last one writes what there is last
            note = layout_file.save(self.arrangement)
        if note and not self.layout_note:  # said once
            self.layout_note = note
            self.app.call_from_thread(self.note_layout)
