"""What all our applications have in common: driver, themes, and how they say goodbye."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import BindingType
from textual.screen import Screen

from pgs_tui.appearance.look import Look
from pgs_tui.appearance.themes import THEMES
from pgs_tui.goals import Goal
from pgs_tui.terminal.driver import SturdyDriver
from pgs_tui.terminal.frugal import frugal
from pgs_tui.terminal.typed_keys import TypedKeys

THEME_SHEET = Path(__file__).with_name("theme.tcss")


@dataclass(frozen=True, slots=True)
class Goodbye:
    """What the restored terminal says, and the exit code. `refused` goes to stderr, `next` is opened then."""

    exit_code: int = 0
    farewell: str = ""
    refused: str = ""
    next: Goal | None = None


class ThemedApp(TypedKeys[Goodbye], inherit_bindings=False):
    """Subclasses name their style sheets, THEME_SHEET first, and their first screen."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, look: Look) -> None:
        super().__init__(driver_class=SturdyDriver, ansi_color=True if look.theme == "terminal" else None)
        self.look = look
        self.animation_level = "none"
        for theme in THEMES.values():
            self.register_theme(theme)
        # Set without its watcher, which would work out all styles a second time before the first frame.
        self.set_reactive(App.theme, THEMES[look.theme].name)
        self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of the roles for themes that name none."""
        return THEMES["dark"].variables

    @property
    def terminal_is_behind(self) -> bool:
        """What was shown before has not arrived: whoever shows something again and again should wait."""
        return isinstance(self._driver, SturdyDriver) and self._driver.is_behind

    def on_resize(self) -> None:
        """Send all cells, also where the size is the old one again: a terminal that was smaller meanwhile lost some."""
        if self.screen_stack:
            self.screen.refresh()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        super()._display(screen, frugal(renderable))
