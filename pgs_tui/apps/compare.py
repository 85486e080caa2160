"""The application of `pgs-tui compare`: the comparison, and what is opened from it."""

from __future__ import annotations

import gc
from typing import ClassVar

from pgs_tui.appearance.look import Look
from pgs_tui.apps.themed import THEME_SHEET, Goodbye, ThemedApp
from pgs_tui.comparing.comparison import Comparison
from pgs_tui.goals import Attach, CompareRuns
from screens.compare.screen import STYLE_SHEET, CompareScreen
from screens.dashboard.live import LiveRun


class CompareApp(ThemedApp):
    """Shows its first frame before it reads a log."""

    CSS_PATH: ClassVar = [THEME_SHEET, STYLE_SHEET]

    def __init__(self, goal: CompareRuns, look: Look) -> None:
        super().__init__(look)
        self._goal = goal
        lives = [LiveRun.of(source) for source in goal.sources]
        self.compare_screen = CompareScreen(Comparison(lives), goal.sources, look)

    def get_default_screen(self) -> CompareScreen:
        """The only one."""
        return self.compare_screen

    def on_ready(self) -> None:
        gc.enable()

    def on_compare_screen_leaving(self, message: CompareScreen.Leaving) -> None:
        self.exit(Goodbye(next=self._goal.back if message.back else None))

    def on_compare_screen_watching(self, message: CompareScreen.Watching) -> None:
        source = self._goal.sources[message.place]
        self.exit(Goodbye(next=Attach(source.address, back=self._goal.again)))
