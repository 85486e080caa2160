"""News of a run become its history: a survey first, the past behind it, then what goes on."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path

from engine.events import Phase, Stamped
from engine.events.columns import Block
from pgs_tui.history.history import History
from pgs_tui.history.log_lines import LogLines
from pgs_tui.history.retold import is_told_again
from pgs_tui.history.strays import NO_OFFSET
from pgs_tui.runs.follow import Update


class Intake:
    """`take` updates in the order in which they come. `shown` is what the panels show, `read` what is known for good.

    They differ while a past is being read: then a survey of it is shown, and what goes on meanwhile is drawn with that.
    """

    def __init__(self, events: Path) -> None:
        self._events = events
        self.shown = self.read = self._new_history()
        self.phase_since: float | None = None
        """When the present phase began, in unix seconds."""
        self._again: History | None = None
        """What a log tells that begins anew with what was known: it is shown once all of it has been read."""
        self._begins_anew = False

    def take(self, update: Update) -> None:
        """Take in news. A survey is shown in place of the past until all of that has been read."""
        if update.survey:
            self.shown = self._new_history()
            self._fold(self.shown, update)
        elif update.preview:
            if self.shown is self.read:  # there was no survey
                self.shown = self._new_history()
            self._fold(self.shown, update)
        else:
            self._take_for_good(update)

    def _take_for_good(self, update: Update) -> None:
        self._begin_anew(update)
        reading = self._again or self.read
        self._fold(reading, update)
        if self.shown is not reading:  # work on what will be shown next is spread over the reading
            reading.table.keep_averages_of(self.shown.table)
        if not update.loading:
            self.read, self._again = reading, None
        if not update.loading or update.restarted:
            self.shown = self.read

    def _begin_anew(self, update: Update) -> None:
        """See to it that what the log told before it was emptied stays, and that nothing is taken in twice."""
        if update.afresh:
            self.read, self._again, self.phase_since = self._new_history(), None, None
        if update.restarted:
            self.read.begin_anew()
            self._again, self._begins_anew = None, True
        if self._begins_anew:
            is_again = is_told_again(self.read, (*update.columns, *update.events))
            self._begins_anew = is_again is None
            if is_again:
                self._again, self.phase_since = self._new_history(), None

    def _new_history(self) -> History:
        return History(LogLines(self._events))

    def _fold(self, history: History, update: Update) -> None:
        for block in update.columns:
            self._note_phase(history, block)
            history.extend(block)
        for stamped, offset in zip(update.events, chain(update.offsets, repeat(NO_OFFSET)), strict=False):
            self._note_phase(history, stamped)
            history.take(stamped.event, stamped.t, offset)

    def _note_phase(self, history: History, block: Block) -> None:
        if isinstance(block, Stamped) and isinstance(block.event, Phase):
            known = history.phase
            if known is None or known.name != block.event.name:
                self.phase_since = block.t
