"""The monitor's readings on their way from its thread to the training's, which looks at them between two steps."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from engine.events import Event, Gpu, Host, Stamped

MOST = 4096
"""Readings that wait; a step of an hour has fewer."""


class Readings:
    """Called from the monitor's thread with each of its events: writes it, and keeps readings until they are taken.

    `note` gets what is no reading.
    """

    def __init__(self, write: Callable[[Event], None], note: Callable[[Event], None] | None = None) -> None:
        self._write = write
        self._note = note
        self._lock = threading.Lock()
        self._waiting: deque[Stamped] = deque(maxlen=MOST)

    def __call__(self, event: Event) -> None:
        self._write(event)
        if isinstance(event, Gpu | Host):
            with self._lock:
                self._waiting.append(Stamped(time.time(), event))
        elif self._note is not None:
            self._note(event)

    def taken(self) -> tuple[Stamped, ...]:
        """What came since the last call, in order."""
        with self._lock:
            waiting = tuple(self._waiting)
            self._waiting.clear()
        return waiting
