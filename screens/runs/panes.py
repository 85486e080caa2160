"""The panes of the list of runs: what stands where, and how they are brought up to date."""

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
from pgs_tui.listing.listing import Listing, ListView
from pgs_tui.remote.address import Address
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.run_details import RunDetails
from pgs_tui.widgets.run_list import RunList
from pgs_tui.widgets.status_line import NARROWEST_NAME, StatusLine
from screens.needs import lacking_in_list
from screens.runs.status import nothing_to_list, status_of, told_beside

STYLE_SHEET = Path(__file__).with_name("runs.tcss")
MESSAGE_SECONDS = 6.0


def size_classes(width: int, height: int) -> dict[str, bool]:
    """The classes under which the style sheet knows a terminal of this size."""
    return {"-middle": 18 <= height < 30, "-low": 11 <= height < 18, "-flat": height < 11}


class RunsPanes(Screen[None], inherit_bindings=False):
    """The list, the details below it. `show_now` shows what `listing` knows."""

    CSS_PATH: ClassVar = STYLE_SHEET
    AUTO_FOCUS = ""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As every screen has it, but the panes alone repaint when the focus moves, and not the whole screen."""

    def __init__(self, listing: Listing, view: ListView, look: Look, readonly: bool) -> None:
        super().__init__()
        self.listing = listing
        self.readonly = readonly
        self.lacking = lacking_in_list(isinstance(listing.where, Address), readonly)
        self._message_timer: Timer | None = None
        self.known_folders: tuple[str, ...] = ()
        """Folders where runs of this user are, for an empty list to name."""
        self.status_line = StatusLine(id="status")
        self.list = RunList(id="runs")
        self.list.selected = view.selected
        self.details = RunDetails(id="details")
        self.key_bar = KeyBar(hints_of("runs", going=False, lacking=self.lacking), id="keys")
        for drawn in self.drawn:
            drawn.glyphs = look.glyphs

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Everything on the screen from top to bottom."""
        return self.status_line, self.list, self.details, self.key_bar

    @property
    def view(self) -> ListView:
        """How the list is looked at now."""
        listing = self.listing
        selected = self.list.row.path if self.list.row else None
        return ListView(listing.order, listing.filter, listing.marked, selected)

    def compose(self) -> ComposeResult:
        self.update_classes(size_classes(*self.app.size), update=False)  # styles are worked out once, not twice
        yield from self.drawn

    def on_mount(self) -> None:
        self.set_focus(self.list)
        self.show_now()

    def on_resize(self, event: Resize) -> None:
        self.update_classes(size_classes(*event.size))
        self.call_after_refresh(self.show_now)

    def show_now(self) -> None:
        """Bring everything on the screen up to date."""
        listing = self.listing
        self.list.filter, self.list.order, self.list.marked = listing.filter, listing.order, listing.marked
        self.list.total, self.list.beside = len(listing.rows), told_beside(listing)
        self.list.said = nothing_to_list(listing, self.known_folders)
        self.list.show(listing.shown())
        self.status_line.show(status_of(listing, max(self.app.size.width // 4 - 1, NARROWEST_NAME)))
        self.show_details()

    def show_details(self) -> None:
        """Tell of the selected run."""
        row = self.list.row
        begun = tuple(one.id for one in self.listing.begun_from(row)) if row else ()
        self.details.show(row, self.list.missing, begun)

    def say(self, text: str, role: Role = "accent", seconds: float = MESSAGE_SECONDS) -> None:
        if self._message_timer is not None:
            self._message_timer.stop()
        self.key_bar.say(text, role)
        self._message_timer = self.set_timer(seconds, self.key_bar.quiet)
