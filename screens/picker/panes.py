"""The picker's panes: what stands where, and how they are brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.events import Resize
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from pgs_tui.appearance.look import Look
from pgs_tui.drawing.lines import Role
from pgs_tui.keys import hints_of
from pgs_tui.picking.folders import folder_name
from pgs_tui.widgets.config_details import ConfigDetails
from pgs_tui.widgets.config_list import ConfigList
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.status_line import StatusLine
from screens.picker.picking import Picking
from screens.picker.status import nothing_found, status_of, told_beside

STYLE_SHEET = Path(__file__).with_name("picker.tcss")
MESSAGE_SECONDS = 6.0


def size_classes(width: int, height: int) -> dict[str, bool]:
    """The classes under which the style sheet knows a terminal of this size."""
    return {"-middle": 18 <= height < 30, "-low": 12 <= height < 18, "-flat": height < 12}


class PickerPanes(Screen[None], inherit_bindings=False):
    """The list, the details below it. `show_now` shows what `picking` knows."""

    CSS_PATH: ClassVar = STYLE_SHEET
    AUTO_FOCUS = ""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As every screen has it, but the panes alone repaint when the focus moves, and not the whole screen."""

    def __init__(self, picking: Picking, look: Look) -> None:
        super().__init__()
        self.picking = picking
        self._message_timer: Timer | None = None
        self.status_line = StatusLine(id="status")
        self.list = ConfigList(id="configs")
        self.details = ConfigDetails(id="details")
        self.key_bar = KeyBar(hints_of("picker", going=False), id="keys")
        for drawn in self.drawn:
            drawn.glyphs = look.glyphs

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Everything on the screen from top to bottom."""
        return self.status_line, self.list, self.details, self.key_bar

    def compose(self) -> ComposeResult:
        self.update_classes(size_classes(*self.app.size), update=False)  # styles are worked out once, not twice
        yield from self.drawn

    def on_mount(self) -> None:
        self.set_focus(self.list)
        self.show_now()

    def on_resize(self, event: Resize) -> None:
        self.update_classes(size_classes(*event.size))

    def show_now(self) -> None:
        """Bring everything on the screen up to date."""
        picking = self.picking
        groups = picking.collection.groups(self.list.filter)
        self.list.said = (
            f"no config has {self.list.filter}; Esc shows all" if self.list.filter else nothing_found(picking)
        )
        self.list.without_gpu = picking.asked and picking.gpu is None
        self.list.total = len(picking.collection)
        self.list.hopeless = bool(picking.ended)
        self.list.beside = told_beside(picking)
        self.list.show(groups)
        self.status_line.show(status_of(picking))
        self.show_details()

    def show_details(self) -> None:
        """Tell of the selected config."""
        entry = self.list.entry
        self.details.show(entry, folder_name(entry.path) if entry else "", self.picking.ended)

    def say(self, text: str, role: Role = "accent", seconds: float = MESSAGE_SECONDS) -> None:
        if self._message_timer is not None:
            self._message_timer.stop()
        self.key_bar.say(text, role)
        self._message_timer = self.set_timer(seconds, self.key_bar.quiet)
