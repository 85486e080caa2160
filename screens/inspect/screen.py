"""The data as training sees it: rows, one sample token by token, and the audit of all rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from pgs_tui.appearance.look import GLYPH_NAMES, Look
from pgs_tui.drawing.lines import text_of
from pgs_tui.inspection.row_source import RowFilter
from pgs_tui.keys import bindings_of
from screens.inspect.inspecting import Inspecting
from screens.inspect.moving import InspectMoving
from screens.inspect.opening import Opening
from screens.inspect.panes import STYLE_SHEET
from screens.messages import LeavingMessage, RefusedMessage, ServerMessage

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.inspection.client import Answer, Ended, Inspector

__all__ = ["STYLE_SHEET", "InspectScreen", "Opening"]
LOOK_SECONDS = 0.4


class InspectScreen(InspectMoving, inherit_bindings=False):
    """`arguments` name the config or the run for `pgs inspect`. It reports with `Leaving` and `Refused`.

    `above` says that there is a screen to go back to, `going` that a run goes on there. `command` replaces that of
    the inspector; tests do that. With `readonly` what is copied goes into no file.
    """

    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("inspect"))

    class Leaving(LeavingMessage):
        """The person wants to leave the program."""

    class Refused(RefusedMessage):
        """The inspector did not start."""

    class Arrived(ServerMessage):
        """News from the inspector."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        look: Look,
        opening: Opening | None = None,
        above: bool = False,
        going: bool = False,
        command: Sequence[str] | None = None,
        readonly: bool = False,
    ) -> None:
        super().__init__(name, Inspecting(opening or Opening()), look, going)
        self._arguments = tuple(arguments)
        self._ascii_only = look.ascii_only
        self._above = above
        self._command = command
        self._readonly = readonly

    def on_mount(self) -> None:
        self.call_after_refresh(self._start)

    def on_unmount(self) -> None:
        self.inspecting.close()

    def _start(self) -> None:
        try:
            self.inspecting.start(self._open_inspector)
        except OSError as error:
            self._cannot_start(error)
            return
        self.set_interval(LOOK_SECONDS, self._look_again)

    def _open_inspector(self) -> Inspector:
        from pgs_tui.inspection.client import Inspector, command_of

        def deliver(news: Answer | Ended) -> None:
            self.post_message(self.Arrived(news))

        return Inspector(self._command or command_of(*self._arguments), deliver)

    def _cannot_start(self, error: OSError) -> None:
        self.view.say(f"the inspector cannot be started: {error}", bad=True)

    def action_start_again(self) -> None:
        if self.inspecting.ended is None:
            self.say("the inspector is running; s is there to start it again when it has ended")
            return
        try:
            self.inspecting.start_again(self._open_inspector)
        except OSError as error:
            self._cannot_start(error)
            return
        self.show_now()

    def _look_again(self) -> None:
        if self.inspecting.is_busy:
            self.inspecting.look_again()

    def on_inspect_screen_arrived(self, message: Arrived) -> None:
        self.inspecting.take(message.news)
        ended = self.inspecting.ended
        if ended is not None and self.inspecting.hello is None and not self._above:
            self.post_message(self.Refused(ended.reason, ended.exit_code or 1))
        self.show_now()

    def action_next_flagged(self) -> None:
        self.inspecting.next_flagged(forward=True)

    def action_previous_flagged(self) -> None:
        self.inspecting.next_flagged(forward=False)

    def action_filter(self) -> None:
        from screens.dialogs.filter_prompt import FilterPrompt

        def take(written: str | None) -> None:
            if written is not None:
                self._filter(RowFilter.read(written))

        self.app.push_screen(FilterPrompt(self.rows.source.filter.written), take)

    def _filter(self, wanted: RowFilter) -> None:
        if self.inspecting.opening.spike is not None:
            self.say("the rows of a recorded step are few; there is nothing to filter")
            return
        self.inspecting.filter(wanted)
        self._show_list()

    def _show_list(self) -> None:
        self._focus(0)
        self.show_now()

    def action_enter(self) -> None:
        flag = self.audit.selected
        if self.focused is self.audit and flag is not None:
            self.inspecting.show_finding(flag)
            self._show_list()
        elif self.focused is not self.audit:
            self._focus(1)

    def action_out(self) -> None:
        if self.focused is not self.rows:
            self._focus(0)
        elif self.inspecting.is_narrowed:
            self._filter(RowFilter())
        elif self._above and self.is_current:
            self.dismiss()

    def action_next_pane(self) -> None:
        self._turn(1)

    def action_previous_pane(self) -> None:
        self._turn(-1)

    def _turn(self, step: int) -> None:
        panes = self.panes
        place = next((place for place, pane in enumerate(panes) if pane is self.focused), 0)
        self._focus((place + step) % len(panes))

    def _focus(self, place: int) -> None:
        pane = self.panes[place]
        self._let_read(pane)  # before, as what is not displayed cannot have the focus
        self.set_focus(pane)

    def action_glyphs(self) -> None:
        if self._ascii_only:
            self.say("this terminal's encoding has only ASCII")
            return
        place = GLYPH_NAMES.index(self.key_bar.glyphs)
        for drawn in self.drawn:
            drawn.show_with(GLYPH_NAMES[(place + 1) % len(GLYPH_NAMES)])

    def action_copy(self) -> None:
        from screens.copying import save_copy

        text = self._copied()
        self.app.copy_to_clipboard(text)
        self.say(save_copy(text, os.environ, self._readonly))

    def _copied(self) -> str:
        """The whole sample as it is rendered, or the lines of another pane."""
        reader = self.view.reader
        if self.focused is self.view and reader is not None:
            return reader.sample.text
        chosen = self.audit if self.focused is self.audit else self.rows
        return "\n".join(text_of(row).rstrip() for row in chosen.lines) + "\n"

    def action_help(self) -> None:
        from screens.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen("inspect", self.key_bar.glyphs))

    def action_leave(self) -> None:
        self.post_message(self.Leaving())

    def action_ask_leave(self) -> None:
        self.post_message(self.Leaving(asking=True))
