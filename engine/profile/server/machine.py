"""This machine's GPUs, looked at again now and then without keeping anybody waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from engine.profile.cards import Cards, look

FRESH_SECONDS = 2.0
"""For so long what was seen counts; drivers take their time to answer."""


class Machine:
    """`cards` is what was seen last; the first time it is looked for."""

    def __init__(self, look_now: Callable[[], Cards] = look, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._look = look_now
        self._fresh = fresh_seconds
        self._seen: Cards | None = None
        self._at = 0.0
        self._thread: threading.Thread | None = None

    def cards(self) -> Cards:
        """What there is and what is free on it, a few seconds old at most if somebody keeps asking."""
        if self._seen is None:
            self._look_again()
        elif time.monotonic() - self._at > self._fresh and not (self._thread and self._thread.is_alive()):
            self._thread = threading.Thread(target=self._look_again, name="gpus", daemon=True)
            self._thread.start()
        assert self._seen is not None
        return self._seen

    def wait(self, seconds: float) -> None:
        """Wait until what is being looked at was seen."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _look_again(self) -> None:
        self._seen = self._look()
        self._at = time.monotonic()
