"""The application of `pgs-tui` without a config: the picker, and what is opened from it."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pgs_tui.appearance.look import Look
from pgs_tui.apps.themed import THEME_SHEET, Goodbye, ThemedApp
from pgs_tui.configs import short_name
from pgs_tui.goals import PickConfig, StartConfig
from pgs_tui.profiling.what_if import Target
from screens.picker.screen import STYLE_SHEET, PickerScreen

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from screens.inspect.screen import InspectScreen
    from screens.profile.screen import ProfileScreen


class PickerApp(ThemedApp):
    """Shows its first frame before it looks for a config. One that is to be trained is the `next` of its goodbye."""

    CSS_PATH: ClassVar = [THEME_SHEET, STYLE_SHEET]

    def __init__(
        self, goal: PickConfig, look: Look, shipped: Path | None = None, command: Sequence[str] | None = None
    ) -> None:
        """`shipped` replaces the configs of the program, `command` that of the profiler; tests do that."""
        super().__init__(look)
        self._command = command
        self.picker = PickerScreen(goal.here, look, Target(goal.gpu, goal.memory), shipped, command)

    def get_default_screen(self) -> PickerScreen:
        """The picker is the screen at the bottom."""
        return self.picker

    def on_ready(self) -> None:
        gc.enable()

    def on_picker_screen_leaving(self, message: PickerScreen.Leaving) -> None:
        self.exit(Goodbye())

    def on_picker_screen_chosen(self, message: PickerScreen.Chosen) -> None:
        if message.what == "start":
            self.exit(Goodbye(next=StartConfig(message.path, (), short_name(message.path))))
        elif message.what == "inspect":
            self._inspect(message.path)
        else:
            self._profile(message.path)

    def _inspect(self, path: Path) -> None:
        from screens.inspect.screen import InspectScreen

        self.push_screen(InspectScreen(short_name(path), ("--config", str(path)), self.look, above=True))

    def _profile(self, path: Path) -> None:
        from screens.profile.screen import ProfileScreen

        def back(_: None) -> None:
            self.picker.look_again()  # a config with other values may have been written

        target = self.picker.picking.target
        screen = ProfileScreen(short_name(path), path, self.look, target=target, above=True, command=self._command)
        self.push_screen(screen, back)

    def on_inspect_screen_leaving(self, message: InspectScreen.Leaving) -> None:
        self.exit(Goodbye())

    def on_profile_screen_leaving(self, message: ProfileScreen.Leaving) -> None:
        self.exit(Goodbye())

    def on_profile_dialogs_starting(self, message: ProfileScreen.Starting) -> None:
        self.exit(Goodbye(next=StartConfig(message.config, message.overrides, short_name(message.config))))
