"""How a person's signals reach the training loop.

The first SIGINT, SIGTERM or SIGHUP asks the loop to finish its step, save and leave; before the first step, when there
is nothing to finish, it ends the run where it stands. A second SIGINT leaves at once.
"""

from __future__ import annotations

import signal
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
        self._steps_are_finished = False
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
        """Ask for a stop as the first signal does; a later reason does not replace an earlier one."""
        self.reason = self.reason or reason

    @contextmanager
    def finishing_steps(self) -> Iterator[None]:
        """Inside, a request waits for the loop to look at `reason`; outside, it ends the run where it stands."""
        self._steps_are_finished = True
        try:
            yield
        finally:
            self._steps_are_finished = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self.reason is not None:
            raise KeyboardInterrupt
        self.request(f"{signal.Signals(number).name} received")
        if not self._steps_are_finished:
            raise StopNow
