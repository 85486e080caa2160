"""The application: opens a run and shows its dashboard."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import BindingType
from textual.message import Message

from pgs_tui.driver import SturdyDriver
from pgs_tui.goals import AttachTo, StartConfig
from pgs_tui.look import Look
from pgs_tui.themes import THEMES
from screens.dashboard import STYLE_SHEET, DashboardScreen

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    import subprocess

    from engine.rundir import RunDir
    from pgs_tui.opening import Checked
    from pgs_tui.runs.launcher import Launched, Recipe

    Starter = Callable[[Recipe], Launched]


@dataclass(frozen=True, slots=True)
class Goodbye:
    """What the restored terminal says, and the exit code. `refused` goes to stderr."""

    exit_code: int = 0
    farewell: str = ""
    refused: str = ""


class PgsApp(App[Goodbye], inherit_bindings=False):
    """Shows its first frame before it reads a config or loads a chart library."""

    CSS_PATH: ClassVar = [Path(__file__).with_name("theme.tcss"), STYLE_SHEET]
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

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

    def __init__(self, goal: StartConfig | AttachTo, look: Look, start: Starter | None = None) -> None:
        """`start` replaces the launcher of engines; tests do that."""
        super().__init__(driver_class=SturdyDriver, ansi_color=True if look.theme == "terminal" else None)
        self.animation_level = "none"
        for theme in THEMES.values():
            self.register_theme(theme)
        # Set without its watcher, which would work out all styles a second time before the first frame.
        self.set_reactive(App.theme, THEMES[look.theme].name)
        self.stylesheet.set_variables(self.get_css_variables())
        self._goal = goal
        self._look = look
        self._start_engine = start
        self._launching = False
        self.dashboard = DashboardScreen(goal.name, look, goal.first_words)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of the roles for themes that name none."""
        return THEMES["dark"].variables

    def get_default_screen(self) -> DashboardScreen:
        """The dashboard is the screen at the bottom."""
        return self.dashboard

    def on_ready(self) -> None:
        gc.enable()
        self.open()

    def open(self) -> None:
        """Begin with what was asked for, now that the first frame stands."""
        goal = self._goal
        if isinstance(goal, AttachTo):
            self._follow(goal.run)
        else:
            self.run_worker(lambda: self._check(goal), thread=True, group="opening")

    def _follow(self, run: RunDir, process: subprocess.Popen[bytes] | None = None) -> None:
        from pgs_tui.runs.follow import Follower
        from screens.live import LiveRun

        self.dashboard.follow(LiveRun(self._goal.name, run), Follower.of(run, process))

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
        from screens.confirm import Answer, Confirm

        newest = checked.going[0]
        answers = [
            Answer("attach", f"Attach to {newest.id}"),
            Answer("start", "Start another one"),
            Answer("leave", "Leave"),
        ]

        def take(answer: str | None) -> None:
            if answer == "attach":
                self._follow(newest)
            elif answer == "start":
                self._launch(checked)
            else:
                self.exit(Goodbye(farewell="nothing was started"))

        many = len(checked.going)
        question = "A run of this config is going." if many == 1 else f"{many} runs of this config are going."
        self.push_screen(Confirm("already running", question, answers, self._look.glyphs), take)

    def _launch(self, checked: Checked) -> None:
        self._launching = True
        self.dashboard.announce("starting the engine")
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
        self._follow(message.launched.run, message.launched.process)

    def on_pgs_app_refused(self, message: Refused) -> None:
        self.exit(Goodbye(message.exit_code, refused=message.why))

    def on_dashboard_screen_leaving(self, message: DashboardScreen.Leaving) -> None:
        farewell = message.farewell
        if self._launching and self.dashboard.live is None:
            from pgs_tui.invocation import own_command

            farewell = f"the run is being started. Open it with: {own_command()} attach"
        self.exit(Goodbye(message.exit_code, farewell))
