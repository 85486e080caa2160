"""How the person looks at the run: what is shown, how, and what opens from it."""

from __future__ import annotations

import os

from textual.message import Message

from pgs_tui.appearance.look import GLYPH_NAMES
from pgs_tui.drawing.lines import text_of
from pgs_tui.widgets.drawn import Drawn
from screens.dashboard.marks import DashboardMarks

LOG_HINT = "a text; nothing shows all lines"


class DashboardSeeing(DashboardMarks):
    """The keys that change the view, never the run."""

    class Back(Message, namespace="dashboard_screen"):
        """There is nothing left to go out of but the dashboard itself."""

    class Profiling(Message, namespace="dashboard_screen"):
        """The person wants to see what the run's config takes, and what other values would change."""

    def action_hold(self) -> None:
        self._held = not self._held
        self.say("the view is held, data is still collected; space lets it go" if self._held else "the view is live")
        self.show_now()

    def action_inspect(self) -> None:
        if self.live is None:
            self.say("there is no run yet whose data could be inspected")
        elif why_not := self.live.why_not("inspect"):
            self.explain(why_not)
        else:
            self.post_message(self.Inspecting())

    def action_profile(self) -> None:
        if self.live is None:
            self.say("there is no run yet whose memory could be looked at")
        elif why_not := self.live.why_not("profile"):
            self.explain(why_not)
        else:
            self.post_message(self.Profiling())

    def action_reconnect(self) -> None:
        """Do not wait until a lost connection is tried again."""
        link = self.live.source.link() if self.live is not None else None
        if self.live is None or link is None:
            self.say("R goes on with a run in the list, pgs-tui runs; here it tries a lost connection again")
        elif link.state == "up":
            self.say(f"the connection to {self.live.source.where} stands")
        else:
            self.live.source.try_now()
            self.say(f"trying to reach {self.live.source.where} now")

    def action_glyphs(self) -> None:
        if self.look.ascii_only:
            self.say("this terminal's encoding has only ASCII")
            return
        place = GLYPH_NAMES.index(self.key_bar.glyphs)
        for drawn in self.drawn:
            drawn.show_with(GLYPH_NAMES[(place + 1) % len(GLYPH_NAMES)])

    def action_copy(self) -> None:
        from screens.copying import save_copy

        focused = self.focused
        chosen = [focused] if isinstance(focused, Drawn) else [one for one in self.drawn if one.display]
        text = "\n".join(text_of(row).rstrip() for drawn in chosen for row in drawn.lines) + "\n"
        self.app.copy_to_clipboard(text)
        self.say(save_copy(text, os.environ, self.live is not None and self.live.readonly))

    def action_next_pane(self) -> None:
        self.focus_next()

    def action_previous_pane(self) -> None:
        self.focus_previous()

    def action_out(self) -> None:
        """One layer out: the alert, the log's filter, the cursor, the zoom, the focus, the dashboard."""
        if self.leave_the_mark():
            return
        if self.log_panel.only:
            self.log_panel.show_only("")
        elif self.out_of_the_view():
            return
        elif self.focused is not None:
            self.set_focus(None)
        else:
            self.post_message(self.Back())

    def action_filter(self) -> None:
        """No lines of the log but those with a text."""
        from screens.dialogs.filter_prompt import FilterPrompt

        def take(written: str | None) -> None:
            if written is None:
                return
            if written.strip() and "log" not in self.arrangement.visible(self.room):
                self.bring("log")
            found = self.log_panel.show_only(written)
            self.say(f"lines of the log with it: {found}" if written.strip() else "all lines of the log are shown")

        self.app.push_screen(FilterPrompt(self.log_panel.only, LOG_HINT, "/ only lines of the log with"), take)

    def action_up(self) -> None:
        self._scroll(1)

    def action_down(self) -> None:
        self._scroll(-1)

    def action_first(self) -> None:
        """The first step; with the focus on the log, its oldest line."""
        if self._reads_the_log():
            self._scroll(10**9)
        else:
            self.to_the_first_step()

    def action_last(self) -> None:
        """The newest step; with the focus on the log, its newest line."""
        if self._reads_the_log():
            self._scroll(-(10**9))
        else:
            self.to_the_newest_step()

    def _reads_the_log(self) -> bool:
        return self.focused is self.log_panel or not self.live or not self.live.history.steps

    def _scroll(self, lines: int) -> None:
        if self.focused is self.alerts:
            self.select_alert(-1 if lines < 0 else 1)
        else:
            self.log_panel.scroll(lines)

    def action_help(self) -> None:
        from screens.dialogs.help import HelpScreen

        lacking = self.live.lacking if self.live is not None else ()
        self.app.push_screen(HelpScreen(self.screen_name, self.key_bar.glyphs, lacking))
