"""How a person's signals reach the training loop.

The first SIGINT, SIGTERM or SIGHUP asks the loop to finish its step, save and leave; before the first step, when there
is nothing to finish, it ends the run where it stands. A person's command does the same, from whatever thread. A second
SIGINT leaves at once; a second command does not, as two people may ask at the same moment. Before and after that, while
the run's folder is opened and its end is written, signals are only noted: a run must not end without saying so.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopNow(BaseException):
    """Raised where the engine stands when a stop is asked for and no step is under way."""


class StopSwitch:
    """Holds the first reason to stop. Use as a context manager: it takes the signals and gives them back."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._asked_elsewhere: str | None = None
        self._interrupts = 0
        self._first_ends_the_run = False
        self._second_interrupt_counts = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSwitch:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if handler is signal.SIG_IGN and number is not signal.SIGTERM:
                continue  # nohup, cron or the launcher decided that this signal means nothing
            self._previous[number] = handler
            signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def request(self, reason: str) -> None:
        """Ask for a stop as the first signal does; a later reason does not replace an earlier one. From any thread."""
        if self.ends_at_once and self.reason is None and threading.current_thread() is not threading.main_thread():
            self._asked_elsewhere = reason
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)  # only there it can be raised
        else:
            self.reason = self.reason or reason

    @property
    def ends_at_once(self) -> bool:
        """True while a request ends the run where it stands."""
        return self._first_ends_the_run

    @contextmanager
    def ending_at_once(self) -> Iterator[None]:
        """Inside, a request raises StopNow where the engine stands; so does one that was made before."""
        self._first_ends_the_run = self._second_interrupt_counts = True
        try:
            if self.reason is not None:
                raise StopNow
            yield
        finally:
            self._first_ends_the_run = self._second_interrupt_counts = False

    @contextmanager
    def finishing_steps(self) -> Iterator[None]:
        """Inside, a request waits for the loop to look at `reason`, and a second SIGINT raises KeyboardInterrupt."""
        self._second_interrupt_counts = True
        try:
            yield
        finally:
            self._second_interrupt_counts = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._interrupts += number == signal.SIGINT
        was_asked_before = self.reason is not None
        self.request(self._asked_elsewhere or f"{signal.Signals(number).name} received")
        if self._interrupts > 1 and self._second_interrupt_counts:
            raise KeyboardInterrupt
        if self._first_ends_the_run and not was_asked_before:
            raise StopNow
