"""How a person arranges the panels: shown, hidden, moved, alone; and how curves are drawn. All of it is remembered."""

from __future__ import annotations

from dataclasses import replace

from pgs_tui.layout import LOGGABLE, SMOOTHINGS
from pgs_tui.panel_names import BY_DIGIT, WORDS, PanelName
from screens.dashboard.seeing import DashboardSeeing

WITH_LOG_AXIS: tuple[PanelName, ...] = ("loss", "grad_norm")
"""Whose axes change where no chart is in focus."""


class DashboardArranging(DashboardSeeing):
    """The keys that change the layout."""

    def action_toggle_panel(self, digit: str) -> None:
        """Hide the panel, or show it; where one is alone, this one in its place."""
        panel = BY_DIGIT[int(digit) - 1]
        if self.arrangement.alone is not None:
            self._show_alone(panel)
            return
        self.rearrange(self.arrangement.toggled(panel, self.room))
        if panel == "alerts" and panel not in self.arrangement.visible(self.room):
            self.alerts.close()
            self.read_alert(False)

    def _remember(self) -> None:
        """For the next time; not by who may write nothing."""
        if self.live is None or not self.live.readonly:
            super()._remember()

    def action_maximise(self) -> None:
        """The pane in focus alone, else the first one; among the others again where one was alone."""
        visible = self.arrangement.visible(self.room)
        panel = self._focused_panel or (visible[0] if visible else None)
        if panel is None:
            self.say("no panel is shown; v lists them all")
        else:
            self._show_alone(panel)

    def action_panels(self) -> None:
        """All panels in a list."""
        from screens.dialogs.panel_list import PanelList

        layout = replace(self.arrangement, alone=None)
        self.app.push_screen(PanelList(layout, self.room, self.rearrange, self.key_bar.glyphs))

    def action_panel_back(self) -> None:
        self._move(-1)

    def action_panel_on(self) -> None:
        self._move(1)

    def _move(self, by: int) -> None:
        panel = self._focused_panel
        if panel is None:
            self.say("Tab goes to a pane; [ and ] then move it")
        else:
            self.rearrange(self.arrangement.moved(panel, by, self.room))

    def action_next_pane(self) -> None:
        """The next pane; where one is alone, the next of all takes its place."""
        if not self._alone_goes(1):
            super().action_next_pane()

    def action_previous_pane(self) -> None:
        if not self._alone_goes(-1):
            super().action_previous_pane()

    def action_out(self) -> None:
        """Out of the panel that is alone, else as ever."""
        if self.arrangement.alone is not None:
            self._show_alone(self.arrangement.alone)
        else:
            super().action_out()

    def action_log_axis(self) -> None:
        panel = self._focused_panel or self.arrangement.alone
        if panel is not None and panel not in LOGGABLE:
            self.say(f"{WORDS[panel]}: there is no axis that could be logarithmic")
        else:
            self.rearrange(self.arrangement.with_log_axes((panel,) if panel is not None else WITH_LOG_AXIS))

    def action_smooth(self) -> None:
        smoothing = SMOOTHINGS[(SMOOTHINGS.index(self.arrangement.smoothing) + 1) % len(SMOOTHINGS)]
        words = f"average over the raw values: {smoothing} of the old, {1 - smoothing:.2g} new" if smoothing else ""
        self.say(words or "raw values")
        self.rearrange(replace(self.arrangement, smoothing=smoothing))

    @property
    def _focused_panel(self) -> PanelName | None:
        return next((name for name, pane in self.panes.items() if pane is self.focused), None)

    def _alone_goes(self, by: int) -> bool:
        alone = self.arrangement.alone
        if alone is None:
            return False
        order = [name for name in self.arrangement.order if name != "ranks" or self.several_ranks]
        self._show_alone(order[(order.index(alone) + by) % len(order)])
        return True

    def _show_alone(self, panel: PanelName) -> None:
        self.rearrange(self.arrangement.maximised(panel))
        if self.arrangement.alone is not None:
            self.set_focus(self.panes[panel])
            self.say(f"{WORDS[panel]} alone; Tab goes to the next, Esc back to all")
