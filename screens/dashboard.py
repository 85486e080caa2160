"""The live view of one run: five panels, alerts, the engine's log."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from pgs_tui.keys import bindings_of, hints_of
from pgs_tui.look import GLYPH_NAMES, Look
from pgs_tui.widgets.alert_panel import AlertPanel
from pgs_tui.widgets.banner import Banner
from pgs_tui.widgets.chart_panel import ChartPanel
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.lines import Role, text_of
from pgs_tui.widgets.log_panel import LogPanel
from pgs_tui.widgets.memory_panel import MemoryPanel
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.status_line import Status, StatusLine

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.runs.follow import Follower, Update
    from screens.live import LiveRun

STYLE_SHEET = Path(__file__).with_name("dashboard.tcss")
REFRESH_SECONDS = 0.25
MESSAGE_SECONDS = 8.0
SMOOTHINGS = (0.98, 0.9, None)
FRAMED_LOG_LINES = 20
LAST_WORDS = 5


def size_classes(width: int, height: int) -> dict[str, bool]:
    """The classes under which the style sheet knows a terminal of this size."""
    return {
        "-thin": width < 50,
        "-flat": height < 12,
        "-short": 12 <= height < 20,
        "-middle": 20 <= height < 32,
        "-tall": height >= 32,
    }


class DashboardScreen(Screen[None], inherit_bindings=False):
    """Give it a run with `follow`. It reports with `Leaving` that the person wants to go."""

    CSS_PATH = STYLE_SHEET
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("dashboard"))

    class Leaving(Message):
        """The person leaves; `farewell` is what the restored terminal should say."""

        def __init__(self, farewell: str, exit_code: int) -> None:
            super().__init__()
            self.farewell = farewell
            self.exit_code = exit_code

    class Inspecting(Message):
        """The person wants to see the data: all of it, some `rows`, or the batch recorded at the step `spike`."""

        def __init__(self, rows: tuple[int, ...] = (), spike: int | None = None) -> None:
            super().__init__()
            self.rows = rows
            self.spike = spike

    class Profiling(Message):
        """The person wants to see what the run's config takes, and what other values would change."""

    class Arrived(Message):
        """News of the run, from the thread that follows it."""

        def __init__(self, update: Update) -> None:
            super().__init__()
            self.update = update

    def __init__(self, run_name: str, look: Look, opening: str = "starting") -> None:
        super().__init__()
        self.live: LiveRun | None = None
        self._run_name = run_name
        self._look = look
        self._opening = opening
        self._gone = Event()
        self._held = False
        self._smoothing = 0
        self._refreshed = 0.0
        self._refresh_timer: Timer | None = None
        self._message_timer: Timer | None = None
        self._new_log: list[tuple[str, Role]] = []
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
            drawn.glyphs = self._look.glyphs

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

    def on_mount(self) -> None:
        self._show_status()
        self.set_interval(1.0, self._show_status)

    def on_unmount(self) -> None:
        self._gone.set()

    def on_resize(self, event: Resize) -> None:
        self.log_panel.framed = event.size.height >= FRAMED_LOG_LINES
        self.update_classes(size_classes(*event.size))

    def follow(self, live: LiveRun, follower: Follower) -> None:
        """Show this run from now on."""
        self.live = live

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
        self._new_log += [(text, "text") for text in update.log] + [(note, "warn") for note in update.notes]
        if update.notes:
            self._say(update.notes[-1], "warn")
        self._refresh_soon()

    def _refresh_soon(self) -> None:
        """At most once every REFRESH_SECONDS, and at once after a quiet time."""
        if self._refresh_timer is None:
            wait = max(self._refreshed + REFRESH_SECONDS - time.monotonic(), 0.001)
            self._refresh_timer = self.set_timer(wait, self.show_now)

    def show_now(self) -> None:
        """Bring everything on the screen up to date."""
        self._refreshed, self._refresh_timer = time.monotonic(), None
        self._show_status()
        if self.live is None:
            return
        for answer in self.live.answers():
            self._say(*answer)
        if not self._held or not self.live.going:
            self._show_log()
            self._show_ending(self.live)
        if not self._held:
            self._show_curves()
            self.memory.show(self.live.memory())
            self.alerts.show(self.live.incidents())

    def _show_status(self) -> None:
        if self.live is None:
            self.status_line.show(Status(name=self._run_name, state=self._opening, age="no data yet"))
        else:
            self.status_line.show(self.live.status(self._held))
            if self.live.unanswered and not self.key_bar.speaking:
                self._say(f"{self.live.unanswered}: no answer yet, the engine looks for it between two steps")

    def _show_log(self) -> None:
        for role in dict.fromkeys(role for _, role in self._new_log):
            self.log_panel.extend([text for text, one in self._new_log if one == role], role)
        self._new_log.clear()

    def _show_curves(self) -> None:
        if self.live is not None:
            views = self.live.curves(SMOOTHINGS[self._smoothing])
            for chart in self.charts:
                chart.show(views[chart.id or ""])

    def _show_ending(self, live: LiveRun) -> None:
        ending = live.ending(self.log_panel.last(LAST_WORDS))
        self.banner.set_class(ending is not None, "said")
        self.key_bar.offer(hints_of("dashboard", going=ending is None))
        if ending is not None:
            self.banner.show(*ending)

    def _say(self, text: str, role: Role = "accent") -> None:
        if self._message_timer is not None:
            self._message_timer.stop()
        self.key_bar.say(text, role)
        self._message_timer = self.set_timer(MESSAGE_SECONDS, self.key_bar.quiet)

    def action_hold(self) -> None:
        self._held = not self._held
        self._say("the view is held, data is still collected; space lets it go" if self._held else "the view is live")
        self.show_now()

    def action_toggle_panel(self, digit: str) -> None:
        panel = self.panels[int(digit) - 1]
        panel.toggle_class("hidden")
        if panel is self.alerts and panel.has_class("hidden"):
            self._close_alerts()
        if panel.has_focus:
            self.set_focus(None)
        for row in self.query(".row"):
            row.set_class(all(child.has_class("hidden") for child in row.children), "hidden")

    def action_next_alert(self) -> None:
        self._select_alert(1)

    def action_previous_alert(self) -> None:
        self._select_alert(-1)

    def _select_alert(self, step: int) -> None:
        if self.alerts.select(step) is None:
            self._say("no alerts so far")
            return
        self.alerts.remove_class("hidden")
        self.add_class("-reading")

    def action_inspect(self) -> None:
        if self.live is None:
            self._say("there is no run yet whose data could be inspected")
        else:
            self.post_message(self.Inspecting())

    def action_profile(self) -> None:
        if self.live is None:
            self._say("there is no run yet whose memory could be looked at")
        else:
            self.post_message(self.Profiling())

    def action_enter(self) -> None:
        """Open the rows behind the alert that is being read, or behind the newest one with the focus on the pane."""
        alert = self.alerts.selected or (self.alerts.newest if self.focused is self.alerts else None)
        if alert is None or self.live is None:
            self._say("n goes to an alert; Enter then opens the rows behind it")
        elif alert.step is not None and self.live.run.spike(alert.step).is_file():
            self.post_message(self.Inspecting(spike=alert.step))
        elif alert.rows:
            self.post_message(self.Inspecting(rows=alert.rows))
        else:
            self._say("this alert is about no rows in particular")

    def _close_alerts(self) -> None:
        self.alerts.close()
        self.remove_class("-reading")

    def action_log_axis(self) -> None:
        focused = self.focused
        for chart in [focused] if isinstance(focused, ChartPanel) else self.charts[:2]:
            chart.toggle_log_axis()

    def action_smooth(self) -> None:
        self._smoothing = (self._smoothing + 1) % len(SMOOTHINGS)
        alpha = SMOOTHINGS[self._smoothing]
        self._say(f"average over the raw values: {alpha} of the old, {1 - alpha:.2g} new" if alpha else "raw values")
        self._show_curves()

    def action_glyphs(self) -> None:
        if self._look.ascii_only:
            self._say("this terminal's encoding has only ASCII")
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
        self._say(save_copy(text, os.environ))

    def action_next_pane(self) -> None:
        self.focus_next()

    def action_previous_pane(self) -> None:
        self.focus_previous()

    def action_out(self) -> None:
        if self.alerts.selected is not None:
            self._close_alerts()
        else:
            self.set_focus(None)

    def action_up(self) -> None:
        self._scroll(1)

    def action_down(self) -> None:
        self._scroll(-1)

    def action_first(self) -> None:
        self._scroll(10**9)

    def action_last(self) -> None:
        self._scroll(-(10**9))

    def _scroll(self, lines: int) -> None:
        if self.focused is self.alerts:
            self._select_alert(-1 if lines < 0 else 1)
        else:
            self.log_panel.scroll(lines)

    def action_help(self) -> None:
        from screens.help import HelpScreen

        self.app.push_screen(HelpScreen("dashboard", self.key_bar.glyphs))

    def action_leave(self) -> None:
        self._gone.set()
        if self.live is None:
            self.post_message(self.Leaving("nothing was started", 0))
        else:
            self.post_message(self.Leaving(self.live.farewell(), self.live.exit_code))

    def action_detach(self) -> None:
        self.action_leave()

    def action_ask_leave(self) -> None:
        if self.live is None or not self.live.going:
            self.action_leave()
            return
        stop = ("stop", "Stop the run with a checkpoint")
        self._ask("The run does not need the dashboard.", ("leave", "Leave; the run goes on"), stop, ("stay", "Stay"))

    def action_stop(self) -> None:
        if self.live is None or not self.live.going:
            self._say("there is no run going that could be stopped")
            return
        question = "Stop the run? It finishes its step and saves a checkpoint, from which it can go on."
        self._ask(question, ("stop", "Stop with a checkpoint"), ("stay", "Let it train"))

    def _ask(self, question: str, *answers: tuple[str, str]) -> None:
        from screens.confirm import Answer, Confirm

        actions: dict[str, Callable[[], None]] = {"leave": self.action_leave, "stop": self._stop}

        def take(answer: str | None) -> None:
            if answer in actions:
                actions[answer]()

        offered = [Answer(value, text) for value, text in answers]
        interrupt = "leave" if "leave" in dict(answers) else None  # Ctrl-C twice leaves
        self.app.push_screen(Confirm("sure?", question, offered, self.key_bar.glyphs, interrupt), take)

    def _stop(self) -> None:
        assert self.live is not None, "asked to stop a run that is not there"
        if not self.live.going:
            self._say("the run has ended meanwhile")
            return
        try:
            self.live.ask("stop")
        except OSError as error:
            self._say(f"the command could not be written: {error}", "bad")
            return
        self._say("asked to stop: the engine finishes its step and saves")
