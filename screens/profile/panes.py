"""The profile screen's panes: what stands where, and how they are brought up to date."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Resize
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from pgs_tui.appearance.look import GLYPH_NAMES, Look
from pgs_tui.drawing.lines import Role, text_of
from pgs_tui.format import whole
from pgs_tui.key_tables.key import Need
from pgs_tui.keys import hints_of
from pgs_tui.profiling.profiling import Profiling
from pgs_tui.widgets.change_list import ChangeList
from pgs_tui.widgets.component_bars import ComponentBars
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.memory_room import MemoryRoom
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.phase_bars import PhaseBars
from pgs_tui.widgets.setting_list import SettingList
from pgs_tui.widgets.status_line import StatusLine
from pgs_tui.widgets.work_panel import WorkPanel
from screens.profile.rows import rows_of
from screens.profile.status import instead_of_changes, said_of, status_of

STYLE_SHEET = Path(__file__).with_name("profile.tcss")
MESSAGE_SECONDS = 8.0


def size_classes(width: int, height: int) -> dict[str, bool]:
    """The classes under which the style sheet knows a terminal of this size."""
    return {
        "-wide": width >= 138,
        "-slim": 72 <= width < 100,
        "-slimmer": 56 <= width < 72,
        "-narrow": width < 56,
        "-middle": 22 <= height < 34,
        "-lower": 22 <= height < 29,
        "-low": height < 22,
        "-flat": height < 10,
    }


class ProfilePanes(Screen[None], inherit_bindings=False):
    """The verdict above, settings on the left, what they lead to on the right. `show_now` shows what is known."""

    CSS_PATH: ClassVar = STYLE_SHEET
    AUTO_FOCUS = ""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As every screen has it, but the panes alone repaint when the focus moves, and not the whole screen."""

    def __init__(self, name: str, profiling: Profiling, look: Look, going: bool, readonly: bool) -> None:
        super().__init__()
        self.readonly = readonly
        self.lacking: tuple[Need, ...] = ("control", "files") if readonly else ()
        self.profiling = profiling
        self.filter_words = ""
        self.is_slow = False
        """The estimate has been on its way for so long that it is worth a word."""
        self.config_name = name
        self._ascii_only = look.ascii_only
        self._message_timer: Timer | None = None
        self.status_line = StatusLine(id="status")
        self.room = MemoryRoom(id="room")
        self.settings = SettingList(id="settings")
        self.components = ComponentBars(id="components")
        self.phases = PhaseBars(id="phases")
        self.changes = ChangeList(id="changes")
        self.work = WorkPanel(id="work")
        self.key_bar = KeyBar(hints_of("profile", going, self.lacking), id="keys")
        for drawn in self.drawn:
            drawn.glyphs = look.glyphs

    @property
    def panes(self) -> tuple[Panel, ...]:
        """What can have the focus, in order."""
        return self.settings, self.components, self.phases, self.changes, self.work

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Everything on the screen from top to bottom."""
        return self.status_line, self.room, *self.panes, self.key_bar

    def compose(self) -> ComposeResult:
        self.room.can_focus = False
        self.update_classes(self._classes_for(*self.app.size), update=False)  # styles are worked out once, not twice
        yield self.status_line
        yield self.room
        yield Container(self.settings, Container(*self.panes[1:], id="side"), id="work-area")
        yield self.key_bar

    def on_mount(self) -> None:
        self.set_focus(self.settings)
        self.show_now()

    def on_resize(self, event: Resize) -> None:
        self.update_classes(self._classes_for(*event.size))

    def _classes_for(self, width: int, height: int) -> dict[str, bool]:
        """The size, and which pane stands beside the settings where there is room for one only."""
        classes = size_classes(width, height)
        self.room.framed = not (classes["-middle"] or classes["-low"])
        beside = self.focused if self.focused in self.panes[1:] else self.components
        shown = {f"-{pane.id}": pane is beside for pane in self.panes[1:]}
        return {**classes, **shown, "-reading": self.focused is beside}

    def show_pane(self, pane: Panel) -> None:
        """Move the focus there; where it was not displayed, it is then."""
        beside = pane if pane is not self.settings else self.components
        for one in self.panes[1:]:
            self.set_class(one is beside, f"-{one.id}")
        self.set_class(pane is not self.settings, "-reading")
        self.set_focus(pane)

    def show_now(self) -> None:
        """Bring everything on the screen up to date."""
        profiling = self.profiling
        profile = profiling.profile
        said, is_bad = said_of(profiling)
        self.room.show(profile, said, is_bad)
        tokens = profile.work.tokens_per_step if profile else None
        rows = rows_of(profiling, self.filter_words)
        self.settings.show(rows, f"{whole(tokens)} tokens a step" if tokens is not None else "")
        self.components.show(profile, profiling.measured)
        self.phases.show(profile)
        self.changes.show(
            profiling.advice, instead_of_changes(profiling), profiling.is_behind or profiling.lacks_advice
        )
        self.work.show(profile)
        if profiling.said:
            self.say(profiling.said)
            profiling.said = ""
        self.show_status()

    def show_status(self) -> None:
        """Bring the first line up to date."""
        self.status_line.show(status_of(self.config_name, self.profiling, self.is_slow))

    def say(self, text: str, role: Role = "accent") -> None:
        """Say something in place of the keys, for a while."""
        if self._message_timer is not None:
            self._message_timer.stop()
        self.key_bar.say(text, role)
        self._message_timer = self.set_timer(MESSAGE_SECONDS, self.key_bar.quiet)

    def action_next_pane(self) -> None:
        self._turn(1)

    def action_previous_pane(self) -> None:
        self._turn(-1)

    def _turn(self, step: int) -> None:
        panes = self.panes
        place = next((place for place, pane in enumerate(panes) if pane is self.focused), 0)
        self.show_pane(panes[(place + step) % len(panes)])

    def action_glyphs(self) -> None:
        if self._ascii_only:
            self.say("this terminal's encoding has only ASCII")
            return
        place = GLYPH_NAMES.index(self.key_bar.glyphs)
        for drawn in self.drawn:
            drawn.show_with(GLYPH_NAMES[(place + 1) % len(GLYPH_NAMES)])

    def action_copy(self) -> None:
        from screens.copying import save_copy

        shown = [one for one in (self.room, *self.panes) if one.display]
        text = "\n".join(text_of(row).rstrip() for drawn in shown for row in drawn.lines) + "\n"
        self.app.copy_to_clipboard(text)
        self.say(save_copy(text, os.environ, self.readonly))

    def action_help(self) -> None:
        from screens.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen("profile", self.key_bar.glyphs, self.lacking))
