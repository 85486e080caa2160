"""Every run below a folder: how it is, what it came to, and the way into it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import ClassVar, Literal

from textual.binding import BindingType
from textual.message import Message

from pgs_tui.appearance.look import GLYPH_NAMES, Look
from pgs_tui.drawing.lines import text_of
from pgs_tui.format import plain
from pgs_tui.keys import bindings_of
from pgs_tui.listing.listing import MOST_MARKED, Listing, ListView, Looked, look
from pgs_tui.listing.row import RunRow
from pgs_tui.remote.address import Address
from screens.list_keys import ListKeys
from screens.runs.dialogs import RunsDialogs
from screens.runs.panes import STYLE_SHEET

__all__ = ["STYLE_SHEET", "RunsScreen"]
LOOK_SECONDS = 3.0
"""How often runs are looked at again here, and how often at least elsewhere is FAR_LOOK_SECONDS."""
FAR_LOOK_SECONDS = 20.0
REST = 10
"""So many times as long as a look took there is none."""
Way = Literal["attach", "replay", "resume"]


class RunsScreen(ListKeys, RunsDialogs, inherit_bindings=False):
    """Looks through the runs of `where`. It reports with `Leaving`, `Chosen` and `Comparing`."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("runs"))

    class Leaving(Message):
        """The person wants to leave the program."""

    class Chosen(Message):
        """The person wants to watch this run, to play it again, or to go on with it."""

        def __init__(self, row: RunRow, way: Way) -> None:
            super().__init__()
            self.row = row
            self.way = way

    class Comparing(Message):
        """The person wants to see these runs over each other."""

        def __init__(self, rows: tuple[RunRow, ...]) -> None:
            super().__init__()
            self.rows = rows

    class Told(Message):
        """News from the thread that looks."""

        def __init__(self, news: Looked) -> None:
            super().__init__()
            self.news = news

    def __init__(
        self,
        where: Path | Address | None,
        look: Look,
        view: ListView | None = None,
        readonly: bool = False,
        note: str = "",
    ) -> None:
        view = view or ListView()
        super().__init__(Listing(where, view), view, look, readonly)
        self._ascii_only = look.ascii_only
        self._note = note
        self._looked_at = 0.0

    def on_mount(self) -> None:
        self.call_after_refresh(self._look)
        self.set_interval(LOOK_SECONDS, self._look_now_and_then)
        if self._note:
            self.say(plain(self._note), "warn", seconds=20.0)

    def on_unmount(self) -> None:
        self.listing.close()

    def look_again(self) -> None:
        """Look through the runs once more; what is known stays in sight meanwhile."""
        self._look()

    def _look(self, anew: bool = False) -> None:
        number, scan = self.listing.begin(anew)
        self.run_worker(lambda: look(number, scan, self._tell), thread=True, group="looking")
        self.status_line.refresh()

    def _look_now_and_then(self) -> None:
        """What goes on changes, and others start runs; a slow disk or line is not kept busy with that."""
        listing = self.listing
        rest = max(REST * listing.took, FAR_LOOK_SECONDS if isinstance(listing.where, Address) else 0.0)
        if not listing.looking and time.monotonic() - self._looked_at >= rest:
            self._look()

    def _tell(self, news: Looked) -> None:
        self.post_message(self.Told(news))

    def on_runs_screen_told(self, message: Told) -> None:
        self.listing.take(message.news)
        if message.news.done:
            self._looked_at = time.monotonic()
            if not self.listing.rows:
                self._find_other_folders()
        self.show_now()

    def _find_other_folders(self) -> None:
        """Where runs of this user are, as far as the registry tells, the newest first."""
        from engine.rundir import list_runs
        from pgs_tui.picking.folders import folder_name

        folders = dict.fromkeys(run.path.parent for run in list_runs())
        self.known_folders = tuple(folder_name(folder) for folder in folders if folder != self.listing.where)

    def page_rows(self) -> int:
        return self.list.room

    def move_by(self, rows: int) -> None:
        if self.focused is self.details:
            self.details.scroll(rows)
        elif self.list.move(rows):
            self.show_details()

    def action_enter(self) -> None:
        row = self.chosen_row()
        if row is None:
            return
        if not row.is_readable or row.trouble.startswith("it holds neither"):
            self.say(plain(row.trouble), "warn")
        else:
            self.post_message(self.Chosen(row, "attach"))

    def action_replay(self) -> None:
        row = self.chosen_row()
        if row is None:
            return
        if row.is_going:
            self.say("it is still going on; Enter attaches to it")
        elif row.summary is None or row.summary.step is None:
            self.say("there is no step of it to play")
        else:
            self.post_message(self.Chosen(row, "replay"))

    def resume(self, row: RunRow) -> None:
        self.post_message(self.Chosen(row, "resume"))

    def action_mark(self) -> None:
        row = self.chosen_row()
        if row is None:
            return
        if row.summary is None or row.summary.step is None:
            self.say("there is no step of it to compare")
        elif not self.listing.toggle_mark(row.path):
            self.say(f"{MOST_MARKED} runs are marked, as many as can be told apart; m on one of them unmarks it")
        else:
            self.show_now()
            self.list.move(1)
            self.show_details()

    def action_compare(self) -> None:
        rows = tuple(self.listing.rows[path] for path in self.listing.marked)
        if len(rows) < 2:
            self.say(f"m marks runs; 2 to {MOST_MARKED} of them are compared")
        else:
            self.post_message(self.Comparing(rows))

    def action_sort(self) -> None:
        self.listing.order = self.listing.order.following
        self._tell_order()

    def action_sort_backwards(self) -> None:
        self.listing.order = self.listing.order.backwards
        self._tell_order()

    def _tell_order(self) -> None:
        self.show_now()
        self.say(f"{self.listing.order.words}; S turns it round")

    def action_rescan(self) -> None:
        self._look(anew=True)
        self.say("looking again")

    def action_out(self) -> None:
        if self.focused is not self.list:
            self.set_focus(self.list)
        elif self.listing.filter:
            self.filter_by("")
        elif self.listing.marked:
            self.listing.marked = ()
            self.show_now()

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
        self.say(save_copy(text, os.environ, self.readonly))

    def action_help(self) -> None:
        from screens.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen("runs", self.key_bar.glyphs, self.lacking))

    def action_leave(self) -> None:
        self.post_message(self.Leaving())

    def action_ask_leave(self) -> None:
        self.action_leave()
