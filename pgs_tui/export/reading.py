"""A run read to its end at once, for those who do not want to watch it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.rundir import RunDir
from pgs_tui.goals import SILENT
from pgs_tui.runs.alarm import Watchman
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.past import past_of
from pgs_tui.runs.source import LocalRun
from screens.live import LiveRun

LAST_WORDS = 5


@dataclass(frozen=True, slots=True)
class ReadRun:
    """A run as it was when it was read; `last_words` are the newest lines of its log."""

    live: LiveRun
    last_words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be read, in sentences."""


def read_run(run: RunDir, clock: Callable[[], float] = time.time) -> ReadRun:
    """Read all that the run has written so far. A log that cannot be read gives an empty run, with a note."""
    past = past_of(run.events)
    source = LocalRun(run, past=past)
    live, follower = LiveRun(source, clock), source.follower()
    words: deque[str] = deque(maxlen=LAST_WORDS)
    notes: list[str] = []
    try:
        while not _is_read(live, follower, words, notes):
            pass
    finally:
        if past is not None:
            past.close()
    watchman = Watchman(run, SILENT, clock(), ring=lambda: None)
    live.be_watched_by(watchman)
    return ReadRun(live, tuple(words), (*notes, *live.notes()))


def _is_read(live: LiveRun, follower: Follower, words: deque[str], notes: list[str]) -> bool:
    """Take in what there is; True where no more will come at once."""
    update = Update()
    for update in follower.poll():
        words.extend(update.log)
        notes.extend(update.notes)
        if not update.survey:
            live.take(update)
    return update.trouble is not None or not update.loading
