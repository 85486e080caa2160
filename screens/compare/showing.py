"""A comparison comes up to date: news of all its runs arrive, and are shown at a steady pace."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import replace
from threading import Event, Lock
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from engine.events.columns import GpuColumns
from pgs_tui.appearance.look import Look
from pgs_tui.comparing.comparison import Comparison
from screens.compare.panes import ComparePanes

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.comparing.differences import Differences
    from pgs_tui.runs.follow import Follower, Update
    from pgs_tui.runs.source import Source

REFRESH_SECONDS = 0.25
SLOW_SECONDS = 1.0
TURN_SECONDS = 0.1
"""How often who waits for the turn looks whether anybody is still there."""


class CompareShowing(ComparePanes):
    """Follows a source for each run. Long logs are surveyed all at once and then read one after the other."""

    class Arrived(Message, namespace="compare_screen"):
        """News of one of the runs, from the thread that follows it."""

        def __init__(self, place: int, update: Update) -> None:
            super().__init__()
            self.place = place
            self.update = update

    class Differing(Message, namespace="compare_screen"):
        """The configs were compared."""

        def __init__(self, differences: Differences) -> None:
            super().__init__()
            self.differences = differences

    def __init__(self, comparison: Comparison, sources: Sequence[Source], look: Look) -> None:
        super().__init__(comparison, look)
        self._sources = sources
        self._followers: list[Follower] = []
        self._gone = Event()
        self._turn = Lock()
        self._refreshed = 0.0
        self._refresh_timer: Timer | None = None

    def on_mount(self) -> None:
        self.set_focus(self.table)
        self.show_now()
        self.call_after_refresh(self._begin)
        self.set_interval(SLOW_SECONDS, self._tell_time)

    def on_unmount(self) -> None:
        self._gone.set()
        for follower in self._followers:
            follower.stop()
        for source in self._sources:
            source.close()

    def _begin(self) -> None:
        for place, source in enumerate(self._sources):
            follower = source.follower()
            self._followers.append(follower)
            self.run_worker(lambda place=place, one=follower: self._follow(place, one), thread=True, group="followers")

    def _follow(self, place: int, follower: Follower) -> None:
        """A log that was surveyed is read when it is its turn, so that memory holds the blocks of one at a time."""
        has_turn = False

        def deliver(update: Update) -> None:
            nonlocal has_turn
            kept = tuple(block for block in update.columns if not isinstance(block, GpuColumns))
            self.post_message(self.Arrived(place, replace(update, columns=kept)))
            if update.survey and not has_turn and not self._sources[place].where:  # a link makes them wait anyway
                has_turn = self._wait_for_turn()
            elif has_turn and not update.loading:
                has_turn = False
                self._turn.release()

        try:
            follower.run(deliver, self._gone.wait)
        finally:
            if has_turn:
                self._turn.release()

    def _wait_for_turn(self) -> bool:
        while not self._gone.is_set():
            if self._turn.acquire(timeout=TURN_SECONDS):
                return True
        return False

    def on_compare_screen_arrived(self, message: Arrived) -> None:
        was_loading, was_heard = self.comparison.loading, self.comparison.is_heard
        self.comparison.take(message.place, message.update)
        self._followers[message.place].taken()
        is_read = was_loading and not self.comparison.loading
        if is_read or (
            self.comparison.is_heard and not was_heard
        ):  # configs of runs elsewhere come with the first news
            self.run_worker(self._compare_configs, thread=True, group="configs")
        if is_read:
            gc.freeze()  # long pasts are not looked through again by every collection
        if message.update.survey:
            self.show_now()
        else:
            self.refresh_soon()

    def refresh_soon(self) -> None:
        """At most once every REFRESH_SECONDS, and at once after a quiet time."""
        if self._refresh_timer is None:
            wait = max(self._refreshed + REFRESH_SECONDS - time.monotonic(), 0.001)
            self._refresh_timer = self.set_timer(wait, self._refresh)

    def _refresh(self) -> None:
        if getattr(self.app, "terminal_is_behind", False):
            self._refresh_timer = self.set_timer(SLOW_SECONDS, self._refresh)
            return
        self._refreshed, self._refresh_timer = time.monotonic(), None
        self.show_now()

    def _tell_time(self) -> None:
        """What is said of runs that go on changes with the time alone."""
        if any(run.live.going for run in self.comparison.runs):
            self.show_table()

    def _compare_configs(self) -> None:
        from pgs_tui.comparing.differences import differences_of

        found = differences_of([run.live.run.config_yaml for run in self.comparison.runs])
        self.post_message(self.Differing(found))

    def on_compare_screen_differing(self, message: Differing) -> None:
        signs = [(run.sign, run.role) for run in self.comparison.runs]
        self.differences.show(signs, message.differences)
