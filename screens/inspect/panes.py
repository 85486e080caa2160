"""The inspect screen's panes: what stands where, and how they are brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import DescendantBlur, DescendantFocus, Resize
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from pgs_tui.appearance.look import Look
from pgs_tui.drawing.lines import Role
from pgs_tui.keys import hints_of
from pgs_tui.widgets.audit_panel import AuditPanel
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.key_bar import KeyBar
from pgs_tui.widgets.panel import Panel
from pgs_tui.widgets.row_list import RowList
from pgs_tui.widgets.status_line import StatusLine
from pgs_tui.widgets.token_line import TokenLine
from pgs_tui.widgets.token_view import TokenView
from screens.inspect.inspecting import Inspecting
from screens.inspect.status import status_of

STYLE_SHEET = Path(__file__).with_name("inspect.tcss")
MESSAGE_SECONDS = 6.0


def size_classes(width: int, height: int) -> dict[str, bool]:
    """The classes under which the style sheet knows a terminal of this size."""
    return {
        "-middle": 76 <= width < 100,
        "-narrow": width < 76,
        "-low": 18 <= height < 30,
        "-lower": height < 18,
        "-flat": height < 8,
    }


def spike_hints(going: bool) -> list[tuple[str, str]]:
    """The keys that make sense for a recorded batch, where there is nothing to filter."""
    hints = [(key, hint) for key, hint in hints_of("inspect", going) if key not in ("/", "f F")]
    return [*hints[:2], ("w W", "worst tokens"), *hints[2:]]


class InspectPanes(Screen[None], inherit_bindings=False):
    """Rows on the left, the sample on the right, the audit below. `show_now` shows what `inspecting` knows."""

    CSS_PATH: ClassVar = STYLE_SHEET
    AUTO_FOCUS = ""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As every screen has it, but the panes alone repaint when the focus moves, and not the whole screen."""

    def __init__(self, name: str, inspecting: Inspecting, look: Look, going: bool) -> None:
        super().__init__()
        self.inspecting = inspecting
        self._data_name = name
        self._going = going
        self._message_timer: Timer | None = None
        self.status_line = StatusLine(id="status")
        self.rows = RowList(id="rows")
        self.view = TokenView(id="sample")
        self.token_line = TokenLine(id="token")
        self.audit = AuditPanel(id="audit")
        self.key_bar = KeyBar(hints_of("inspect", going), id="keys")
        for drawn in self.drawn:
            drawn.glyphs = look.glyphs

    @property
    def panes(self) -> tuple[Panel, ...]:
        """What can have the focus, in order. A recorded batch has no audit."""
        panes = (self.rows, self.view, self.audit)
        return tuple(pane for pane in panes if pane is not self.audit or self.audit.display)

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Everything on the screen from top to bottom."""
        return self.status_line, self.rows, self.view, self.token_line, self.audit, self.key_bar

    def compose(self) -> ComposeResult:
        self.update_classes(size_classes(*self.app.size), update=False)  # styles are worked out once, not twice
        yield self.status_line
        yield Container(self.rows, Container(self.view, self.token_line, id="sample-side"), id="work")
        yield self.audit
        yield self.key_bar

    def on_mount(self) -> None:
        if self.inspecting.opening.spike is not None:
            self.audit.display = False
            self.key_bar.offer(spike_hints(self._going))
        self.rows.heading = self.inspecting.heading
        self.set_focus(self.rows)
        self._show_status()

    def on_resize(self, event: Resize) -> None:
        self.update_classes(size_classes(*event.size))
        self._let_read()

    def _let_read(self, pane: Panel | None = None) -> None:
        """Where there is room for the rows or the sample only, show the one that has the focus, or gets it.

        Elsewhere nothing changes: a change of classes repaints the whole screen.
        """
        chosen = pane or self.focused
        if self.has_class("-narrow"):
            self.set_class(chosen is self.view, "-reading")

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        self._show_token()

    def on_descendant_blur(self, event: DescendantBlur) -> None:
        self._show_token()

    def show_now(self) -> None:
        """Bring everything on the screen up to date."""
        inspecting = self.inspecting
        self.rows.heading = inspecting.heading
        if inspecting.source is not self.rows.source:
            self.rows.show(inspecting.source, inspecting.selected)
        self.rows.selected = inspecting.selected
        self.rows.opened = inspecting.opened if inspecting.hello is None else None
        self.rows.said = "there is no inspector to ask" if inspecting.ended else "the inspector is starting"
        self.rows.refresh_rows()
        inspecting.scrolled(self.rows.first, self.rows.room)
        if inspecting.audit is not None:
            self.audit.show(inspecting.audit)
        if inspecting.said:
            self.say(inspecting.said)
            inspecting.said = ""
        self._show_sample()
        self._show_status()

    def _show_sample(self) -> None:
        inspecting = self.inspecting
        if inspecting.ended is not None:
            self.view.say(f"{inspecting.ended.sentence}\n\ns starts it again", bad=True)
        elif inspecting.reader is not None:
            self.view.read(inspecting.reader)
            inspecting.cursor_moved()
        elif inspecting.problem:
            self.view.say(inspecting.problem, bad=True)
        else:
            empty = inspecting.source.answered and not inspecting.source.matched
            self.view.say("no row is selected" if empty else "waiting for the first row")
        self._show_token()

    def _show_token(self) -> None:
        reader = self.view.reader
        self.token_line.show(reader, self.inspecting.facts, self.view.has_focus)

    def _show_status(self) -> None:
        self.status_line.show(status_of(self._data_name, self.inspecting))

    def say(self, text: str, role: Role = "accent") -> None:
        if self._message_timer is not None:
            self._message_timer.stop()
        self.key_bar.say(text, role)
        self._message_timer = self.set_timer(MESSAGE_SECONDS, self.key_bar.quiet)
