"""Follows training of another tool: first all of it is written as a run's log, then that is followed as any."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.events import EventReader
from engine.events.growing import RESTARTED
from engine.events.survey import EDGE_BYTES, survey_of
from pgs_tui.foreign.mirror import ForeignMirror
from pgs_tui.runs.console import ConsoleTail
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.life import Life
from pgs_tui.runs.past import FOLLOWED_BYTES, Past, past_of

WAIT_SECONDS = 0.1
"""How long one poll waits for the log to be written."""
SURVEY_EVERY = 1.0
"""Seconds between two samples of a log that is being written."""


class ForeignFollower(Follower):
    """Nothing but that it is being read is told until all that was there is written."""

    def __init__(self, mirror: ForeignMirror) -> None:
        super().__init__(EventReader(mirror.run.events, FOLLOWED_BYTES), ConsoleTail(mirror.run.console_log), _life)
        self._mirror = mirror
        self._written: Follower | None = None
        self._mirrored_past: Past | None = None
        self._told = Update(life="foreign", loading=True)
        self._trouble: str | None = None
        self._next_survey = 0.0

    def poll(self) -> Iterator[Update]:
        """What is new since the last poll."""
        if self._written is None:
            if not self._mirror.wait(WAIT_SECONDS):
                self.pause = 0.0
                yield self._so_far()
                return
            self._written = self._follower()
        for update in self._written.poll():
            yield self._with_remarks(update)
        self.pause = self._written.pause
        if self._mirror.has_notes or self._mirror.trouble != self._trouble:
            yield self._with_remarks(Update(life=self._told.life, loading=self._told.loading))

    def run(self, deliver: Callable[[Update], None], wait: Callable[[float], bool]) -> None:
        try:
            super().run(deliver, wait)
        finally:
            self._mirror.close()
            if self._mirrored_past is not None:
                self._mirrored_past.close()

    def stop(self) -> None:
        super().stop()
        if self._mirrored_past is not None:
            self._mirrored_past.stop()

    def _so_far(self) -> Update:
        """How far it is, now and then with a sample of what has been written."""
        told = replace(self._told, progress=self._mirror.progress)
        now = time.monotonic()
        if now < self._next_survey:
            return told
        self._next_survey = now + SURVEY_EVERY
        try:
            with self._mirror.run.events.open("rb") as log:
                size = os.fstat(log.fileno()).st_size
                if size < 2 * EDGE_BYTES:
                    return told
                return replace(told, columns=survey_of(log.fileno(), size).blocks, survey=True)
        except OSError:  # it is not there yet
            return told

    def _follower(self) -> Follower:
        run = self._mirror.run
        self._mirrored_past = past = past_of(run.events)
        reader = past.reader() if past is not None else EventReader(run.events, FOLLOWED_BYTES)
        return Follower(reader, ConsoleTail(run.console_log, tells_restarts=False), _life, past=past)

    def _with_remarks(self, update: Update) -> Update:
        """The update, with what the process that reads the other tool's files has to say."""
        self._trouble = self._mirror.trouble
        own = (note for note in update.notes if note not in RESTARTED.values())  # the mirror was, and says why itself
        notes = (*own, *self._mirror.notes())
        self._told = replace(update, notes=notes, trouble=self._trouble or update.trouble)
        return self._told


def _life() -> tuple[Life, int | None]:
    return "foreign", None
