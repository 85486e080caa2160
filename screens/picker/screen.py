"""Every config there is to train: what it does, whether it fits, how it went, and the way into it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.message import Message

from pgs_tui.appearance.look import GLYPH_NAMES, Look
from pgs_tui.configs import configs_folder
from pgs_tui.drawing.lines import text_of
from pgs_tui.keys import bindings_of
from screens.list_keys import ListKeys
from screens.messages import LeavingMessage, ServerMessage
from screens.picker.panes import STYLE_SHEET
from screens.picker.picking import Discovered, News, Picking, read, runs_of
from screens.picker.starting import PickerStarting, Way

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.profiling.what_if import Target
    from pgs_tui.serving.client import Answer, Ended, Server

__all__ = ["STYLE_SHEET", "PickerScreen"]
LOOK_SECONDS = 5.0
"""How often a run that goes on is looked at."""


class PickerScreen(ListKeys, PickerStarting, inherit_bindings=False):
    """Looks below `here`, and holds memory against the GPU `target`. It reports with `Leaving` and `Chosen`.

    `command` replaces that of the profiler; tests do that.
    """

    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("picker"))

    class Leaving(LeavingMessage):
        """The person wants to leave the program."""

    class Chosen(Message):
        """The person wants to `start`, `profile` or `inspect` this config, which is valid."""

        def __init__(self, path: Path, what: Way) -> None:
            super().__init__()
            self.path = path
            self.what = what

    class Told(Message):
        """News from a thread."""

        def __init__(self, news: News) -> None:
            super().__init__()
            self.news = news

    class Answered(ServerMessage):
        """News from the profiler."""

    def __init__(
        self,
        here: Path,
        look: Look,
        target: Target,
        shipped: Path | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        super().__init__(Picking(here, shipped or configs_folder(), target), look)
        self._ascii_only = look.ascii_only
        self._command = command
        self._told_end = ""

    def on_mount(self) -> None:
        self.call_after_refresh(self._search)
        self.set_interval(LOOK_SECONDS, self._follow_runs)

    def on_unmount(self) -> None:
        self.picking.close()

    def on_screen_resume(self) -> None:
        """Back from another screen: what runs and what is free may have changed."""
        if self.picking.searched:
            self._look_up_runs()

    def _search(self) -> None:
        number = self.picking.search_again()
        self.run_worker(lambda: self.picking.search(number, self._tell), thread=True, group="search")

    def _tell(self, news: News) -> None:
        self.post_message(self.Told(news))

    def on_picker_screen_told(self, message: Told) -> None:
        news = message.news
        self.picking.take(news)
        if isinstance(news, Discovered) and news.done:
            self._look_up_runs()
        self.go_on()

    def _look_up_runs(self) -> None:
        paths = [entry.path for entry in self.picking.collection]
        self.run_worker(lambda: self._tell(runs_of(paths)), thread=True, group="runs")

    def _follow_runs(self) -> None:
        if any(entry.last_run and entry.last_run.is_going for entry in self.picking.collection):
            self._look_up_runs()

    def go_on(self) -> None:
        """Show what is known now, and find out more: first of what is in sight."""
        self.show_now()
        waiting = self.picking.collection.get(self.waiting)
        first = (*((waiting,) if waiting else ()), *self.compared, *self.list.in_sight)
        unread = self.picking.unread(first)
        if unread:
            self.run_worker(lambda: self._tell(read(unread)), thread=True, group="reading")
        self.picking.ask(first, self._open_profiler)
        self._tell_end_of_estimates()
        self.start_what_waited()
        if self.page is not None:
            self.page.draw_again()

    def _open_profiler(self) -> Server:
        from pgs_tui.profiling.client import open_profiler

        def deliver(news: Answer | Ended) -> None:
            self.post_message(self.Answered(news))

        return open_profiler(deliver, self._command)

    def on_picker_screen_answered(self, message: Answered) -> None:
        had_gpus = bool(self.picking.gpus)
        self.picking.answer(message.news)
        if self.picking.gpus and not had_gpus:
            self.action_gpu()
        self.go_on()

    def _tell_end_of_estimates(self) -> None:
        """Say once that no more estimates will come, and why."""
        before, self._told_end = self._told_end, self.picking.ended
        if before != self._told_end:
            if self._told_end:
                self.say(f"{self._told_end}; r starts it again", "warn")
            self.show_now()

    def page_rows(self) -> int:
        return self.list.room

    def move_by(self, rows: int) -> None:
        if self.focused is self.details:
            self.details.scroll(rows)
        elif self.list.move(rows):
            self.wait_no_longer()
            self.show_details()

    def action_enter(self) -> None:
        self.choose("start")

    def action_profile(self) -> None:
        self.choose("profile")

    def action_inspect(self) -> None:
        self.choose("inspect")

    def report(self, path: Path, way: Way) -> None:
        self.post_message(self.Chosen(path, way))

    def action_rescan(self) -> None:
        self.look_again()
        self.say("looking again")

    def look_again(self) -> None:
        """Look for configs once more, and read them anew; what is known stays in sight meanwhile."""
        self.picking.start_again()
        self._search()

    def action_out(self) -> None:
        if self.wait_no_longer():
            self.say("not started")
        elif self.focused is not self.list:
            self.set_focus(self.list)
        elif self.list.marked is not None:
            self.unmark()
        elif self.list.filter:
            self.filter_by("")

    def action_next_pane(self) -> None:
        self.set_focus(self.details if self.focused is self.list and self.details.display else self.list)

    def action_previous_pane(self) -> None:
        self.action_next_pane()

    def action_glyphs(self) -> None:
        if self._ascii_only:
            self.say("this terminal's encoding has only ASCII")
            return
        place = GLYPH_NAMES.index(self.key_bar.glyphs)
        for drawn in self.drawn:
            drawn.show_with(GLYPH_NAMES[(place + 1) % len(GLYPH_NAMES)])

    def action_copy(self) -> None:
        from screens.copying import save_copy

        chosen = self.details if self.focused is self.details else self.list
        text = "\n".join(text_of(row).rstrip() for row in chosen.lines) + "\n"
        self.app.copy_to_clipboard(text)
        self.say(save_copy(text, os.environ))

    def action_help(self) -> None:
        from screens.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen("picker", self.key_bar.glyphs))

    def action_leave(self) -> None:
        self.post_message(self.Leaving())

    def action_ask_leave(self) -> None:
        self.action_leave()
