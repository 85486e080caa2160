"""How the connection to another machine stands, and when it is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Condition

from pgs_tui.remote.lost import LinkLostError, LinkRefusedError
from pgs_tui.runs.link_status import LinkStatus

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds between two tries: each pause is twice the one before, up to this one, give or take a fifth."""
JITTER = 0.2


class Link:
    """What the thread at the other machine tells, and everybody may ask."""

    def __init__(self, clock: Callable[[], float] = time.time, chance: random.Random | None = None) -> None:
        self._clock = clock
        self._chance = chance or random.Random()
        self._changed = Condition()
        self._status = LinkStatus(since=clock(), heard=clock())
        self._failures = 0
        self._hurries = False
        self._closed = False

    @property
    def status(self) -> LinkStatus:
        return self._status

    @property
    def closed(self) -> bool:
        """True once nobody wants it any more."""
        return self._closed

    def heard(self, skew: float | None = None) -> None:
        """Something has come from over there just now; `skew` is how far its clock is ahead, if that was told."""
        with self._changed:
            now = self._status
            self._status = replace(now, heard=self._clock(), skew=now.skew if skew is None else skew)
            self._changed.notify_all()

    def up(self) -> None:
        """All that the run had written has come."""
        with self._changed:
            self._failures = 0
            if self._status.state != "up":
                self._become(replace(self._status, state="up", retry_at=None, why=""))

    def connecting(self) -> None:
        """It is being tried again; what was wrong stays told until it is right."""
        with self._changed:
            if self._status.state != "connecting":
                self._become(replace(self._status, state="connecting", retry_at=None))

    def lost(self, error: LinkLostError) -> None:
        """It is not there any more, or not yet again."""
        with self._changed:
            pause = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE) * self._chance.uniform(1 - JITTER, 1 + JITTER)
            self._failures += 1
            refused = isinstance(error, LinkRefusedError)
            retry_at = None if refused else self._clock() + pause
            state = replace(self._status, state="refused" if refused else "lost", retry_at=retry_at, why=error.why)
            self._become(state)

    def refuse(self, why: str) -> None:
        """There is nothing to come back for."""
        with self._changed:
            self._become(replace(self._status, state="refused", retry_at=None, why=why))

    def wait_to_try(self) -> None:
        """Wait for the moment of the next try, or until somebody wants it now, or nobody any more."""
        with self._changed:
            while not self._closed and not self._hurries:
                at = self._status.retry_at
                left = None if at is None else at - self._clock()
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
            self._hurries = False

    def wait_until(self, holds: Callable[[LinkStatus], bool], timeout: float) -> bool:
        """Wait until it stands so; False if it does not within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or holds(self._status), timeout)
            return holds(self._status)

    def try_now(self) -> None:
        """Somebody does not want to wait."""
        with self._changed:
            self._hurries = self._status.state in ("lost", "refused")
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody wants it any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _become(self, status: LinkStatus) -> None:
        self._status = replace(status, since=self._clock())
        self._changed.notify_all()
