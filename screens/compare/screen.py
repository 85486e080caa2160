"""Two to six runs over each other: their curves, their values at one place, what differs in their configs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from pgs_tui.appearance.look import GLYPH_NAMES
from pgs_tui.comparing.aligned import CommonGround
from pgs_tui.comparing.table import wording_of
from pgs_tui.drawing.lines import text_of
from pgs_tui.keys import bindings_of
from pgs_tui.layout import SMOOTHINGS
from pgs_tui.view import View
from screens.compare.panes import STYLE_SHEET
from screens.compare.showing import CompareShowing
from screens.dashboard.readings.looking import AXIS_WORDS
from screens.view_keys import ViewKeys

__all__ = ["STYLE_SHEET", "CompareScreen"]


class CompareScreen(ViewKeys, CompareShowing, inherit_bindings=False):
    """It reports with `Leaving` that the person wants to go, back to where it was opened from or away."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("compare"))
    all_is_seen = "these are the whole runs"

    class Leaving(Message):
        """The person wants to leave: `back` to what was before, else the program."""

        def __init__(self, back: bool = False) -> None:
            super().__init__()
            self.back = back

    class Watching(Message):
        """The person wants to see the run at this place alone."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def action_first(self) -> None:
        if self._reads_differences():
            self.differences.scroll(-(10**6))
        else:
            self.change_view(lambda view, ground: view.at_start(ground))

    def action_last(self) -> None:
        if self._reads_differences():
            self.differences.scroll(10**6)
        else:
            self.change_view(lambda view, ground: replace(view.at(ground.steps[-1], ground), follow=True))

    def action_axis(self) -> None:
        axis = self.comparison.next_axis()
        self.comparison.on_axis(axis)
        self.show_soon()
        self.say(f"aligned by {AXIS_WORDS[axis]}")

    def action_metric(self) -> None:
        """The next metric of which a run has values."""
        metrics, shown = self.comparison.metrics, self.comparison.shown
        place = metrics.index(shown.metric) if shown.metric in metrics else -1
        self.comparison.shown = replace(shown, metric=metrics[(place + 1) % len(metrics)])
        self.show_soon()
        self.say(wording_of(self.comparison.shown.metric).name)

    def action_log_axis(self) -> None:
        shown = self.comparison.shown
        self.comparison.shown = replace(shown, log=not shown.log)
        self.show_soon()
        self.say("log axis" if not shown.log else "linear axis")

    def action_smooth(self) -> None:
        shown = self.comparison.shown
        alpha = SMOOTHINGS[(SMOOTHINGS.index(shown.alpha) + 1) % len(SMOOTHINGS)]
        self.comparison.shown = replace(shown, alpha=alpha)
        self.show_soon()
        self.say(f"averages: {alpha} of the old, {1 - alpha:.2g} new" if alpha else "raw values")

    def action_baseline(self) -> None:
        """The run in focus is what the others are measured against."""
        self.comparison.shown = replace(self.comparison.shown, base=self.table.selected)
        self.show_soon()
        self.say(f"measured against {self.comparison.base.sign} {self.comparison.base.name}")

    def action_toggle_run(self, key: str) -> None:
        """Draw a run's curve or leave it out; the last one stays."""
        place, hidden = int(key) - 1, self.comparison.shown.hidden
        if place >= len(self.comparison.runs):
            self.say(f"there is no run {key}")
        elif hidden | {place} == set(range(len(self.comparison.runs))) and place not in hidden:
            self.say("one run at least is shown")
        else:
            self.comparison.hide(hidden ^ {place})
            self.show_soon()

    def action_differences(self) -> None:
        """What differs in the configs in full, and the curves again."""
        reading = not self.has_class("-differences")
        self.read_differences(reading)
        self.set_focus(self.differences if reading else self.table)
        if not reading:
            self.call_after_refresh(self.show_now)

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_enter(self) -> None:
        self.post_message(self.Watching(self.table.selected))

    def action_next_pane(self) -> None:
        can_go = self.differences.display and self.focused is self.table
        self.set_focus(self.differences if can_go else self.table)

    def action_previous_pane(self) -> None:
        self.action_next_pane()

    def action_out(self) -> None:
        """One layer out: the differences, the cursor, the zoom, then back."""
        if self.has_class("-differences"):
            self.action_differences()
        elif self.comparison.view.cursor is not None:
            self.change_view(lambda view, _: view.at_end())
        elif self.comparison.view.window is not None:
            self.change_view(lambda view, _: view.all())
        else:
            self.post_message(self.Leaving(back=True))

    def action_glyphs(self) -> None:
        if self.look.ascii_only:
            self.say("this terminal's encoding has only ASCII")
            return
        place = GLYPH_NAMES.index(self.key_bar.glyphs)
        for drawn in self.drawn:
            drawn.show_with(GLYPH_NAMES[(place + 1) % len(GLYPH_NAMES)])

    def action_copy(self) -> None:
        from screens.copying import save_copy

        shown = [one for one in (*self.charts, *self.panes) if one.display]
        text = "\n".join(text_of(row).rstrip() for drawn in shown for row in drawn.lines) + "\n"
        self.app.copy_to_clipboard(text)
        self.say(save_copy(text, os.environ))

    def action_help(self) -> None:
        from screens.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen("compare", self.key_bar.glyphs))

    def action_filter(self) -> None:
        self.say("there is nothing to filter here; 1 to 6 show or hide a run")

    def action_leave(self) -> None:
        self.post_message(self.Leaving())

    def action_ask_leave(self) -> None:
        self.action_leave()

    def _reads_differences(self) -> bool:
        return self.focused is self.differences

    def _move(self, rows: int) -> None:
        if self._reads_differences():
            self.differences.scroll(rows)
            return
        self.table.select(self.table.selected + rows)
        self.comparison.shown = replace(self.comparison.shown, front=self.table.selected)
        self.show_charts()

    def move_cursor(self, columns: int) -> None:
        cells = self.curve_cells()
        self.change_view(lambda view, ground: view.moved(columns, cells, ground))

    def pan(self, share: float) -> None:
        if self.comparison.view.window is None:
            self.say("the whole runs are shown; + goes closer")
        else:
            self.change_view(lambda view, ground: view.panned(share, ground), "here the longest run ends")

    def change_view(self, change: Callable[[View, CommonGround], View], unchanged: str = "") -> None:
        """Change the view; where that changes nothing, say why."""
        ground = self.comparison.ground
        if ground is None:
            self.say("there is no step yet to look at")
            return
        view = change(self.comparison.view, ground)
        if view != self.comparison.view:
            self.comparison.view = view
            self.show_soon()
        elif unchanged:
            self.say(unchanged)
