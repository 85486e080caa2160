"""The application of `pgs-tui profile`: the profile screen alone."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import ClassVar

from pgs_tui.appearance.look import Look
from pgs_tui.apps.themed import THEME_SHEET, Goodbye, ThemedApp
from pgs_tui.goals import ProfileConfig, StartConfig
from pgs_tui.profiling.what_if import Target
from screens.profile.screen import STYLE_SHEET, ProfileScreen


class ProfileApp(ThemedApp):
    """Shows its first frame before the profiler is started. What is to be trained is the `next` of its goodbye."""

    CSS_PATH: ClassVar = [THEME_SHEET, STYLE_SHEET]

    def __init__(self, goal: ProfileConfig, look: Look, command: Sequence[str] | None = None) -> None:
        """`command` replaces that of the profiler; tests do that."""
        super().__init__(look)
        target = Target(goal.gpu, goal.memory)
        self.profile_screen = ProfileScreen(
            goal.name, goal.config, look, goal.overrides, target=target, command=command
        )

    def get_default_screen(self) -> ProfileScreen:
        """The only one."""
        return self.profile_screen

    def on_ready(self) -> None:
        gc.enable()

    def on_profile_screen_leaving(self, message: ProfileScreen.Leaving) -> None:
        self.exit(Goodbye())

    def on_profile_screen_refused(self, message: ProfileScreen.Refused) -> None:
        self.exit(Goodbye(message.exit_code, refused=message.why))

    def on_profile_dialogs_starting(self, message: ProfileScreen.Starting) -> None:
        self.exit(Goodbye(next=StartConfig(message.config, message.overrides, message.name)))
