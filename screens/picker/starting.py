"""From a key to what it opens: the config is read once more, and before it is trained there is a look at its memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.timer import Timer

from pgs_tui.appearance.look import Look
from screens.picker.dialogs import PickerDialogs
from screens.picker.picking import Picking, read

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.picking.collection import Entry

Way = Literal["start", "profile", "inspect"]
PATIENCE = 10.0
"""Seconds that a config waits for its estimate before it is asked about; the first one of all takes three to eight."""
WAITING = "seeing whether it fits; Enter starts it now, Esc does not"


class PickerStarting(PickerDialogs, inherit_bindings=False):
    """The screen says in `report` what becomes of a config that was chosen."""

    def __init__(self, picking: Picking, look: Look) -> None:
        super().__init__(picking, look)
        self.waiting: Path | None = None
        """The config that is to be started when its estimate is there."""
        self._patience: Timer | None = None

    def report(self, path: Path, way: Way) -> None:
        """A valid config was chosen, and nothing speaks against it any more."""
        raise NotImplementedError

    def choose(self, way: Way) -> None:
        """Open the selected config, if it is valid; else show what is wrong with it."""
        entry, waited = self.chosen_entry(), self.waiting
        self.wait_no_longer()
        if entry is None:
            return
        self.picking.take(read([entry.path]))  # it may have been changed since
        if not entry.is_valid:
            self.show_problems(entry)
        elif entry.asks_for_trust:
            self.ask_for_trust(entry, lambda: self.choose(way))
        elif way != "start" or not self.picking.target.is_own or waited == entry.path:
            self.report(entry.path, way)
        elif self.picking.is_judged(entry):
            self._start_unless_doubtful(entry)
        else:
            self._wait_for(entry.path)
        self.go_on()

    def action_edit(self) -> None:
        self.wait_no_longer()
        super().action_edit()

    def on_screen_suspend(self) -> None:
        """Something else is in front: nothing starts behind it."""
        self.wait_no_longer()

    def _wait_for(self, path: Path) -> None:
        self.waiting = path
        self.say(WAITING, seconds=PATIENCE)
        self._patience = self.set_timer(PATIENCE, self._ask_instead)

    def wait_no_longer(self) -> bool:
        """Nothing is to be started by itself; whether something was."""
        was_waiting, self.waiting = self.waiting is not None, None
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        if was_waiting:
            self.key_bar.quiet()
        return was_waiting

    def start_what_waited(self) -> None:
        """Start the config that waits if its estimate has come; one that is not selected any more waits for nothing."""
        if self.waiting is None:
            return
        entry = self.list.entry
        if entry is None or entry.path != self.waiting:
            self.wait_no_longer()
        elif self.picking.is_judged(entry):
            self.wait_no_longer()
            self._start_unless_doubtful(entry)

    def _start_unless_doubtful(self, entry: Entry) -> None:
        from pgs_tui.picking.doubts import why_not_to_start

        if doubt := why_not_to_start(entry):
            self._ask(entry, doubt)
        else:
            self.report(entry.path, "start")

    def _ask_instead(self) -> None:
        entry = self.list.entry
        if self.wait_no_longer() and entry is not None:
            self._ask(entry, f"whether it fits is not known: its memory was not worked out within {PATIENCE:.0f} s")

    def _ask(self, entry: Entry, doubt: str) -> None:
        def take(answer: str) -> None:
            self.report(entry.path, "start" if answer == "start" else "profile")

        self.ask_whether(entry, doubt, take)
