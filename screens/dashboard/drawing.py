"""The panes over the x axis are drawn: as the person looks at them, and no more often than that shows something."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.timer import Timer

from pgs_tui.appearance.look import Look
from pgs_tui.history.axis import AxisName
from pgs_tui.view import View, Window
from pgs_tui.widgets.chart_panel import ChartPanel
from pgs_tui.widgets.gpu_panel import GpuPanel
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.parts_panel import PartsPanel
from pgs_tui.widgets.rank_panel import RankPanel
from screens.dashboard.panes import DashboardPanes

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.comparing.baseline import Baseline
    from screens.dashboard.live import LiveRun
    from screens.dashboard.readings.looking import Looking

REST_SECONDS = 0.12
"""How long the cursor stands still before its step's line is read in the log."""
BETWEEN_PANES = 0.001


class DashboardDrawing(DashboardPanes):
    """Change what is looked at with `look_at`; after news `show_curves` draws it."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.live: LiveRun | None = None
        self.baseline: Baseline | None = None
        self.view = View(self.arrangement.axis)
        self._drawing = False
        self._rest_timer: Timer | None = None
        self._rested: int | None = None
        self._state_drawn: tuple[object, ...] = ()
        self._axes_drawn: tuple[AxisName, Window | None] | None = None
        self._waiting: list[Panel] = []
        self._pane_timer: Timer | None = None

    def look_at(self, view: View) -> None:
        """Look at the run so. However many keys come at once, it is drawn once behind them."""
        self.view = view
        self.view_changed()
        if not self._drawing:
            self._drawing = True
            self.call_later(self._draw_view)

    def view_changed(self) -> None:
        """Another part of the run is looked at."""

    def view_drawn(self) -> None:
        """It is on the screen, as far as the panes go."""

    def curve_cells(self) -> int:
        """How many cells a curve is wide: those that the cursor goes through."""
        from pgs_tui.drawing.axes import canvas_size

        chart = next((one for one in self.charts if one.display), None)
        return canvas_size(chart.size.width - 4, chart.size.height - 2)[0] if chart is not None else self.size.width

    def _draw_view(self) -> None:
        self._drawing = False
        if self.live is not None:
            self.show_curves()
            self.view_drawn()
            if self._rest_timer is not None:
                self._rest_timer.stop()
            if self.view.cursor is not None:
                self._rest_timer = self.set_timer(REST_SECONDS, self._read_line)

    def _read_line(self) -> None:
        """The cursor rests: what stands of its step in the log alone is read."""
        self._rested = self.view.cursor
        if self.live is not None:
            self._show_cursor(self._looking(self.live))

    def _looking(self, live: LiveRun) -> Looking:
        rests = self.view.cursor is not None and self._rested == self.view.cursor
        looking = live.looking(self.view, self.arrangement.smoothing, read=rests)
        return replace(looking, baseline=self.baseline) if self.baseline is not None else looking

    def show_curves(self) -> None:
        """What changed of the panes over the x axis.

        All at once where only data came; one after the other where their axes change, with keys in between.
        """
        if self.live is None:
            return
        looking = self._looking(self.live)
        self._show_cursor(looking)
        self.compare_ranks(bool(self.live.ranks().ranks))
        shown = [pane for pane in self.panes.values() if pane.display]
        sizes = tuple((pane.id, pane.size) for pane in shown)
        state = (self.live.version, looking.view, looking.alpha, sizes, id(self.baseline))
        if state == self._state_drawn:
            return
        self._state_drawn = state
        axes = (looking.view.axis, looking.window)
        known, self._axes_drawn = self._axes_drawn, axes
        if known is None or known == axes:
            self._waiting.clear()
            for pane in shown:
                self._show_pane(pane, looking)
            return
        is_under_way = bool(self._waiting)
        self._waiting[:] = shown
        if not is_under_way:
            self._show_next_pane()

    def _show_next_pane(self) -> None:
        if self._waiting and self.live is not None:
            self._show_pane(self._waiting.pop(0), self._looking(self.live))
        if self._pane_timer is None:
            self._pane_timer = self.set_interval(BETWEEN_PANES, self._show_next_pane)  # one for all panes to come
        if self._waiting:
            self._pane_timer.resume()
        else:
            self._pane_timer.pause()

    def _show_pane(self, pane: Panel, looking: Looking) -> None:
        """Bring one of those up to date that show a part of the run."""
        assert self.live is not None, "there is a run"
        match pane:
            case ChartPanel():
                pane.show(self.live.chart(pane.id or "", looking))
            case PartsPanel():
                pane.show(self.live.parts(looking))
            case GpuPanel():
                pane.show(self.live.cards(looking))
            case RankPanel():
                pane.show(self.live.ranks())

    def _show_cursor(self, looking: Looking) -> None:
        assert self.live is not None, "there is a run"
        self.set_class(looking.at is not None, "-looking")
        self.cursor_line.show(self.live.at_cursor(looking))
