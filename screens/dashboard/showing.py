"""The dashboard comes up to date: news of the run arrive, and are shown at a steady pace."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from pgs_tui.appearance.look import Look
from pgs_tui.drawing.lines import Role
from pgs_tui.drawing.lines import width as cells_of
from pgs_tui.keys import ScreenName, hints_of
from pgs_tui.view import View
from pgs_tui.widgets.status_line import Status
from screens.dashboard.drawing import DashboardDrawing

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.runs.follow import Follower, Update
    from screens.dashboard.live import LiveRun

REFRESH_SECONDS = 0.25
SLOW_SECONDS = 1.0
MESSAGE_SECONDS = 8.0
SOONEST = 0.05
CLOSING_SECONDS = 1.0
"""How long whoever leaves waits for a connection that does not end; the end of the program ends it too."""
LAST_WORDS = 5


class DashboardShowing(DashboardDrawing):
    """Give it a run with `follow`. `show_now` shows what is known of it. `screen_name` says whose keys it has."""

    screen_name: ScreenName = "dashboard"

    class Arrived(Message, namespace="dashboard_screen"):
        """News of the run, from the thread that follows it."""

        def __init__(self, update: Update) -> None:
            super().__init__()
            self.update = update

    class NoRun(Message, namespace="dashboard_screen"):
        """What was named on another machine is no run, or none that may be read; nothing of it was ever seen."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(self, run_name: str, look: Look, opening: str = "starting") -> None:
        super().__init__(look)
        self._run_name = run_name
        self._opening = opening
        self._gone = Event()
        self._follower: Follower | None = None
        self._loading = False
        self._held = False
        self._refreshed = 0.0
        self._refresh_timer: Timer | None = None
        self._message_timer: Timer | None = None
        self._clock_timer: Timer | None = None
        self._new_log: list[tuple[str, Role]] = []

    def on_mount(self) -> None:
        self._show_status()
        self.note_layout()

    def on_unmount(self) -> None:
        self._gone.set()
        if self._follower is not None:
            self._follower.stop()
        if self.live is not None:
            closing = Thread(target=self.live.source.close, daemon=True)
            closing.start()
            closing.join(CLOSING_SECONDS)

    def follow(self, live: LiveRun, follower: Follower) -> None:
        """Show this run from now on."""
        self.live, self._follower = live, follower

        def deliver(update: Update) -> None:
            self.post_message(self.Arrived(update))

        self.run_worker(lambda: follower.run(deliver, self._gone.wait), thread=True, group="follower")

    def announce(self, opening: str) -> None:
        """Say what goes on before there is a run."""
        self._opening = opening
        self._show_status()

    def on_dashboard_screen_arrived(self, message: Arrived) -> None:
        assert self.live is not None, "news without a run"
        update = message.update
        self.live.take(update)
        if update.link is not None and update.link.state == "refused" and self.live.history.last_t is None:
            self.post_message(self.NoRun(update.link.why))
        if not self.live.sees(self.view):
            self.look_at(View(self.view.axis))  # the steps that were looked at are no more
        if self._follower is not None:
            self._follower.taken()
        if self._loading and not update.loading:
            gc.freeze()  # a long past is not looked through again by every collection
        self._loading = update.loading
        notes = (*update.notes, *self.live.notes())
        self._new_log += [(text, "text") for text in update.log] + [(note, "warn") for note in notes]
        if notes:
            self.say(notes[-1], "warn")
        if update.survey:
            self.show_now()  # somebody has been waiting since the program started
        else:
            self._refresh_soon()

    def _refresh_soon(self) -> None:
        """At most once every REFRESH_SECONDS, and at once after a quiet time."""
        if self._refresh_timer is None:
            wait = max(self._refreshed + REFRESH_SECONDS - time.monotonic(), 0.001)
            self._refresh_timer = self.set_timer(wait, self._refresh)

    def _refresh(self) -> None:
        """Over a slow link less often: what nobody has seen yet is not shown once more."""
        if getattr(self.app, "terminal_is_behind", False):
            self._refresh_timer = self.set_timer(SLOW_SECONDS, self._refresh)
        else:
            self.show_now()

    def show_now(self) -> None:
        """Bring everything on the screen up to date."""
        self._refreshed, self._refresh_timer = time.monotonic(), None
        self._show_status()
        if self.live is None:
            return
        for told in self.live.told():  # the log has them too: the engine writes its answers there itself
            self.say(*told)
        if not self._held or not self.live.going:
            self._show_log()
            self._show_situation(self.live)
        if not self._held:
            self.show_curves()
            self.memory.show(self.live.memory())
            self.alerts.show(self.live.incidents())

    def _show_status(self) -> None:
        if self.live is None:
            self.status_line.show(Status(name=self._run_name, state=self._opening, age="no data yet"))
        else:
            self.status_line.show(self.status_of(self.live))
            if self.live.unanswered and not self.key_bar.speaking:
                self.say(f"{self.live.unanswered}: no answer yet, though the engine looks every few seconds")
            self._tell_time_in(self.live.status_changes_in())

    def status_of(self, live: LiveRun) -> Status:
        """What the first line says of the run."""
        return replace(live.status(self._held), seen=self._seen())

    def _seen(self) -> str:
        along = "" if self.view.axis == "step" else f"by {self.view.axis}"
        if self.view.window is None:
            return along
        part = "▸ the newest part" if self.view.follow else "◂ a part of the run ▸"
        return f"{part} {along}".rstrip()

    def view_drawn(self) -> None:
        """The first line tells whether all of the run is seen, and along what if not its steps."""
        self._show_status()

    def _tell_time_in(self, seconds: float) -> None:
        """Look at the clock again when it will have changed what is said."""
        if self._clock_timer is not None:
            self._clock_timer.stop()
        self._clock_timer = self.set_timer(max(seconds, SOONEST), self._tell_time)

    def _tell_time(self) -> None:
        self._show_status()
        if self.live is not None:
            self._show_situation(self.live)

    def _show_log(self) -> None:
        for role in dict.fromkeys(role for _, role in self._new_log):
            self.log_panel.extend([text for text, one in self._new_log if one == role], role)
        self._new_log.clear()

    def _show_situation(self, live: LiveRun) -> None:
        """What has to be said in full: how the run ended, or what goes on while there are no curves."""
        said = live.in_full(self.log_panel.last(LAST_WORDS))
        self.banner.set_class(said is not None, "said")
        self.set_class(said is not None, "-told")
        self.key_bar.offer(hints_of(self.screen_name, self.goes_on(live), live.lacking))
        if said is not None:
            self.banner.show(*said)

    def goes_on(self, live: LiveRun) -> bool:
        """Whether the run needs nobody who looks at it, and goes on."""
        return live.going and "control" in live.source.abilities

    def say(self, text: str, role: Role = "accent") -> None:
        """For a while, in place of the keys."""
        if self._message_timer is not None:
            self._message_timer.stop()
        self.key_bar.say(text, role)
        self._message_timer = self.set_timer(MESSAGE_SECONDS, self.key_bar.quiet)

    def explain(self, text: str) -> None:
        """In place of the keys; in a window where that is too narrow for it."""
        self.say(text, "warn")
        if cells_of(text) > self.size.width - 2 and self.is_current:
            from screens.dialogs.confirm import Answer, Confirm

            self.app.push_screen(Confirm("not from here", text, [Answer("on", "Go on")], self.key_bar.glyphs))

    def panels_changed(self) -> None:
        self.show_now()
        if self._held and self.live is not None:  # what comes into sight must show something
            self.show_curves()

    def note_layout(self) -> None:
        if self.layout_note:
            self.say(self.layout_note, "warn")
