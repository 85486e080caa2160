"""A run read to its end at once, for those who do not want to watch it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.rundir import RunDir
from pgs_tui.runs.alarm import Watchman
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.past import past_of
from pgs_tui.runs.source import LocalRun, Source
from pgs_tui.waking import SILENT
from screens.dashboard.live import LiveRun

LAST_WORDS = 5


@dataclass(frozen=True, slots=True)
class ReadRun:
    """A run as it was when it was read; `last_words` are the newest lines of its log."""

    live: LiveRun
    last_words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be read, in sentences."""


def read_run(run: RunDir, clock: Callable[[], float] = time.time) -> ReadRun:
    """Read all that a run on this machine has written so far, as `read_source` does."""
    return read_source(LocalRun(run, past=past_of(run.events)), clock)


def read_source(source: Source, clock: Callable[[], float] | None = None) -> ReadRun:
    """Read all that the run has written so far, of one that is played as far as it is played.

    A log that cannot be read gives an empty run, with a note.
    """
    live, follower = LiveRun(source, clock) if clock else LiveRun.of(source), source.follower()
    words: deque[str] = deque(maxlen=LAST_WORDS)
    notes: list[str] = []
    update = Update(loading=True)
    try:
        while _more_will_come(update):
            update = _newest(follower, live, words, notes) or update
            if follower.pause and _more_will_come(update):
                time.sleep(follower.pause)
    finally:
        follower.stop()
        source.close()
    live.be_watched_by(Watchman(live.folder, SILENT, time.time(), ring=lambda: None))
    return ReadRun(live, tuple(words), (*notes, *live.notes()))


def _newest(follower: Follower, live: LiveRun, words: deque[str], notes: list[str]) -> Update | None:
    """Take in what there is; the last update of it."""
    newest: Update | None = None
    for newest in follower.poll():
        words.extend(newest.log)
        notes.extend(newest.notes)
        if not (newest.survey or newest.preview):  # all of that comes again
            live.take(newest)
    return newest


def _more_will_come(update: Update) -> bool:
    """Whether more of what the run has written comes at once; not where there is trouble, or no connection any more."""
    state = update.link.state if update.link is not None else "up"
    return update.trouble is None and state in ("up", "connecting") and (update.loading or state == "connecting")
