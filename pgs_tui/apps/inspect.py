"""The application of `pgs-tui inspect`: the inspect screen alone."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import ClassVar

from pgs_tui.appearance.look import Look
from pgs_tui.apps.themed import THEME_SHEET, Goodbye, ThemedApp
from pgs_tui.goals import InspectData
from screens.inspect.screen import STYLE_SHEET, InspectScreen, Opening


class InspectApp(ThemedApp):
    """Shows its first frame before the inspector is started."""

    CSS_PATH: ClassVar = [THEME_SHEET, STYLE_SHEET]

    def __init__(self, goal: InspectData, look: Look, command: Sequence[str] | None = None) -> None:
        """`command` replaces that of the inspector; tests do that."""
        super().__init__(look)
        opening = Opening(row=goal.row)
        self.inspect_screen = InspectScreen(goal.name, goal.arguments, look, opening, command=command)

    def get_default_screen(self) -> InspectScreen:
        """The only one."""
        return self.inspect_screen

    def on_ready(self) -> None:
        gc.enable()

    def on_inspect_screen_leaving(self, message: InspectScreen.Leaving) -> None:
        self.exit(Goodbye())

    def on_inspect_screen_refused(self, message: InspectScreen.Refused) -> None:
        self.exit(Goodbye(message.exit_code, refused=message.why))
