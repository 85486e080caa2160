"""Brings the news of a run that is played: what had been told by the moment that is shown, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from engine.events import Batch
from engine.events.columns import Block
from pgs_tui.replaying.playback import Playback
from pgs_tui.replaying.played_console import PlayedConsole
from pgs_tui.replaying.played_log import PlayedLog
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.life import Life

POLL_SECONDS = 0.05
BYTES_AT_ONCE = 8 * 2**20
"""More of a log is told in several pieces, so that keys are answered in between."""
BEFORE_THE_FIRST = "this is the run as it was before its first step"
NOTHING_TOLD = "its log tells nothing that could be played"


class _Silent:
    """Brings nothing: what is played comes otherwise."""

    def poll(self) -> Batch:
        return Batch()


class _NoLines:
    """Brings no lines."""

    def poll(self) -> tuple[str, ...]:
        return ()

    def rest(self) -> tuple[str, ...]:
        return ()


class ReplayFollower(Follower):
    """First reads the whole log; then follows the playback. Going back tells the run afresh up to there.

    `life_at_end` is what is known of the engine once all has been shown. Where the log does not stand on this machine
    yet, `bringing` follows the run until it does.
    """

    def __init__(
        self,
        events: Path,
        console: Path,
        playback: Playback,
        life_at_end: Life,
        at: int | None = None,
        plays: bool = True,
        bringing: Follower | None = None,
    ) -> None:
        super().__init__(_Silent(), _NoLines(), lambda: ("live", None))
        self._events = events
        self._console_path = console
        self._playback = playback
        self._life_at_end = life_at_end
        self._bringing = bringing
        self._notes_told: list[str] = []
        self._at, self._plays = at, plays
        self._played: PlayedLog | None = None
        self._console = PlayedConsole(console, ())
        self._is_read = False
        self._told = 0
        """The byte behind what has been told."""
        self._lines_told = 0
        self._last_life: Life | None = None

    def poll(self) -> Iterator[Update]:
        """What is new since the last poll."""
        self.pause = POLL_SECONDS
        try:
            if self._bringing is not None:
                yield from self._bring(self._bringing)
                return
            if not self._is_read:
                yield from self._read()
            yield from self._played_news()
        except OSError as error:
            yield Update(life="live", trouble=f"{error.strerror}: {error.filename or self._events}")
            self.pause = 1.0

    def run(self, deliver: Callable[[Update], None], wait: Callable[[float], bool]) -> None:
        try:
            super().run(deliver, wait)
        finally:
            self.stop()
            if self._played is not None:
                self._played.close()

    def stop(self) -> None:
        if bringing := self._bringing:
            bringing.stop()

    def _bring(self, bringing: Follower) -> Iterator[Update]:
        """What is told of it meanwhile is only how far that is."""
        self.pause = 0.0
        for update in bringing.poll():
            self._notes_told += update.notes
            self._life_at_end = update.life
            if _is_brought(update):
                bringing.stop()
                self._bringing = None
                return
            yield replace(update, loading=True, preview=False, survey=False, events=(), offsets=(), columns=(), log=())
        self.pause = bringing.pause

    def _read(self) -> Iterator[Update]:
        if self._played is None:
            self._played = PlayedLog(self._events)
            for progress in self._played.read():
                yield Update(life="live", loading=True, progress=progress)
        timeline = self._played.timeline()
        self._is_read = True
        if timeline is None:
            yield Update(life="live", trouble=NOTHING_TOLD)
            return
        self._console = PlayedConsole(self._console_path, timeline.steps)
        self._playback.begin(timeline, self._at, self._plays)
        yield Update(life="live", loading=True, notes=(*self._own_notes(self._played), *self._what_is_shown()))

    def _own_notes(self, played: PlayedLog) -> Iterator[str]:
        """What was not told while the log was brought."""
        return (note for note in played.notes if note not in self._notes_told)

    def _what_is_shown(self) -> Iterator[str]:
        """That a step does not exist which was asked for; of a run that stands at a step, which nobody sees played."""
        (_, last), asked = self._playback.ends, self._at
        if asked is not None and asked > last:
            yield f"there is no step {asked:,}: the last one is {last:,}"
        if not self._plays:
            step = self._playback.step
            yield f"this is the run as it was after step {step:,}" if step is not None else BEFORE_THE_FIRST

    def _played_news(self) -> Iterator[Update]:
        moment = self._playback.moment()
        if moment is None or self._played is None:
            return
        end = self._played.told_by(moment)
        goes_back = end < self._told
        is_over = self._playback.is_at_end or self._life_at_end == "foreign"
        life: Life = self._life_at_end if is_over else "live"
        if end == self._told and life == self._last_life:
            return
        begin = 0 if goes_back else self._told
        lines = self._console.lines(0 if goes_back else self._lines_told, moment.steps)
        self._told, self._lines_told, self._last_life = end, self._console.count(moment.steps), life
        yield from self._pieces(self._played, begin, end, goes_back, life, lines)

    def _pieces(
        self, played: PlayedLog, begin: int, end: int, afresh: bool, life: Life, lines: tuple[str, ...]
    ) -> Iterator[Update]:
        while True:
            until = played.line_start_near(begin + BYTES_AT_ONCE, end)
            blocks: tuple[Block, ...] = tuple(played.blocks(begin, until))
            is_last = until >= end
            yield Update(life=life, columns=blocks, afresh=afresh, loading=not is_last, log=lines if is_last else ())
            if is_last:
                return
            begin, afresh = until, False


def _is_brought(update: Update) -> bool:
    """Whether all that had been written when somebody asked for the run stands here."""
    is_near = update.link is None or update.link.state == "up"
    return is_near and not (update.loading or update.preview or update.trouble)
