"""The application: opens a run and shows its dashboard."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from pgs_tui.appearance.first_hints import first_hints
from pgs_tui.appearance.look import Look
from pgs_tui.apps.themed import THEME_SHEET, Goodbye, ThemedApp
from pgs_tui.goals import AttachTo, ListRuns, StartConfig
from pgs_tui.waking import SILENT, Waking
from screens.dashboard.screen import STYLE_SHEET, DashboardScreen

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.opening import Checked
    from pgs_tui.runs.launcher import Launched, Recipe
    from pgs_tui.runs.source import Source
    from screens.inspect.screen import InspectScreen
    from screens.profile.screen import ProfileScreen

    Starter = Callable[[Recipe], Launched]


class PgsApp(ThemedApp):
    """Shows its first frame before it reads a config or loads a chart library."""

    CSS_PATH: ClassVar = [THEME_SHEET, STYLE_SHEET]

    class Ready(Message):
        """The config can be trained."""

        def __init__(self, checked: Checked) -> None:
            super().__init__()
            self.checked = checked

    class Started(Message):
        """The engine is on its way."""

        def __init__(self, launched: Launched) -> None:
            super().__init__()
            self.launched = launched

    class Refused(Message):
        """It cannot be done, and why."""

        def __init__(self, why: str, exit_code: int) -> None:
            super().__init__()
            self.why = why
            self.exit_code = exit_code

    def __init__(
        self, goal: StartConfig | AttachTo, look: Look, start: Starter | None = None, waking: Waking = SILENT
    ) -> None:
        """`start` replaces the launcher of engines; tests do that. `waking` is for what becomes critical."""
        super().__init__(look)
        self._goal = goal
        self._start_engine = start
        self._launching = False
        self.dashboard = _dashboard_of(goal, look)
        self.dashboard.waking = waking
        self.dashboard.key_bar.offer(first_hints(goal))

    def get_default_screen(self) -> DashboardScreen:
        """The dashboard is the screen at the bottom."""
        return self.dashboard

    def on_ready(self) -> None:
        self.open()
        if not gc.isenabled():
            gc.freeze()  # the libraries stay: no collection need look through them
            gc.enable()

    def open(self) -> None:
        """Begin with what was asked for, now that the first frame stands."""
        goal = self._goal
        if isinstance(goal, AttachTo):
            self._follow(goal.source, goal.readonly)
        else:
            self.run_worker(lambda: self._check(goal), thread=True, group="opening")

    def _follow(self, source: Source, readonly: bool = False) -> None:
        from screens.dashboard.live import LiveRun

        self.dashboard.follow(LiveRun.of(source, readonly), source.follower())

    def _check(self, goal: StartConfig) -> None:
        from pgs_tui.opening import check

        try:
            checked = check(goal.config, goal.overrides)
        except ValueError as error:
            self.post_message(self.Refused(str(error), 2))
        else:
            self.post_message(self.Ready(checked))

    def on_pgs_app_ready(self, message: Ready) -> None:
        checked = message.checked
        if not checked.going:
            self._launch(checked)
            return
        self._ask_which(checked)

    def _ask_which(self, checked: Checked) -> None:
        from pgs_tui.runs.past import past_of
        from pgs_tui.runs.source import LocalRun
        from screens.dialogs.confirm import Answer, Confirm

        newest = checked.going[0]
        answers = [
            Answer("attach", f"Attach to {newest.id}"),
            Answer("start", "Start another one"),
            Answer("leave", "Leave"),
        ]

        def take(answer: str | None) -> None:
            if answer == "attach":
                self._follow(LocalRun(newest, self._goal.name, past=past_of(newest.events)))
            elif answer == "start":
                self._launch(checked)
            else:
                self.exit(Goodbye(farewell="nothing was started"))

        many = len(checked.going)
        question = "A run of this config is going." if many == 1 else f"{many} runs of this config are going."
        self.push_screen(Confirm("already running", question, answers, self.look.glyphs), take)

    def _launch(self, checked: Checked) -> None:
        self._launching = True
        self.dashboard.announce("starting the engine")
        if checked.warning:
            self.dashboard.say(checked.warning, "warn")
        self.run_worker(lambda: self._start(checked), thread=True, group="opening")

    def _start(self, checked: Checked) -> None:
        from pgs_tui.runs.launcher import launch

        try:
            launched = (self._start_engine or launch)(checked.recipe)
        except OSError as error:
            why = f"{error.strerror}: {error.filename}" if error.filename else str(error)
            what = f"the run's directory cannot be made: {why}\ntrain.output_dir names the folder to make it in"
            self.post_message(self.Refused(what, 1))
        else:
            self.post_message(self.Started(launched))

    def on_pgs_app_started(self, message: Started) -> None:
        from pgs_tui.runs.source import LocalRun

        self._follow(LocalRun(message.launched.run, self._goal.name, message.launched.process))

    def on_pgs_app_refused(self, message: Refused) -> None:
        self.exit(Goodbye(message.exit_code, refused=message.why))

    def on_dashboard_screen_leaving(self, message: DashboardScreen.Leaving) -> None:
        farewell = message.farewell
        if self._launching and self.dashboard.live is None:
            from pgs_tui.invocation import own_command

            farewell = f"the run is being started. Open it with: {own_command()} attach"
        self.exit(Goodbye(message.exit_code, farewell))

    def on_dashboard_screen_no_run(self, message: DashboardScreen.NoRun) -> None:
        """Nothing to look at: say why, on the list where it was chosen if there is one."""
        back = self._goal.back if isinstance(self._goal, AttachTo) else None
        if isinstance(back, ListRuns):
            self.exit(Goodbye(next=replace(back, note=message.why)))
        else:
            self.exit(Goodbye(2, refused=f"pgs-tui: {message.why}"))

    def on_dashboard_screen_back(self, message: DashboardScreen.Back) -> None:
        """Out of the outermost layer: to the screen that the run was chosen on."""
        if isinstance(self._goal, AttachTo) and self._goal.back is not None:
            self.exit(Goodbye(next=self._goal.back))

    def on_dashboard_screen_inspecting(self, message: DashboardScreen.Inspecting) -> None:
        from screens.inspect.screen import InspectScreen, Opening

        live = self.dashboard.live
        assert live is not None, "there is no run whose data could be inspected"
        opening = Opening(rows=message.rows, spike=message.spike, step=message.step)
        arguments = ("--run", str(live.run.path))
        name, going = self._goal.name, live.going
        self.push_screen(
            InspectScreen(name, arguments, self.look, opening, above=True, going=going, readonly=live.readonly)
        )

    def on_dashboard_screen_profiling(self, message: DashboardScreen.Profiling) -> None:
        from screens.profile.screen import ProfileScreen

        live = self.dashboard.live
        assert live is not None, "there is no run whose memory could be looked at"
        config = live.run.config_yaml
        self.push_screen(
            ProfileScreen(self._goal.name, config, self.look, above=True, going=live.going, readonly=live.readonly)
        )

    def on_profile_screen_leaving(self, message: ProfileScreen.Leaving) -> None:
        self._leave(message.asking)

    def on_profile_dialogs_starting(self, message: ProfileScreen.Starting) -> None:
        self.exit(Goodbye(next=StartConfig(message.config, message.overrides, message.name)))

    def on_inspect_screen_leaving(self, message: InspectScreen.Leaving) -> None:
        self._leave(message.asking)

    def _leave(self, asking: bool) -> None:
        if asking:
            self.dashboard.action_ask_leave()
        else:
            self.dashboard.action_leave()


def _dashboard_of(goal: StartConfig | AttachTo, look: Look) -> DashboardScreen:
    if goal.screen == "replay":
        from screens.dashboard.replay import ReplayScreen

        return ReplayScreen(goal.name, look, goal.first_words)
    return DashboardScreen(goal.name, look, goal.first_words)
