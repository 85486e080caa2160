"""Follows a run or a log until it ends, tells every change, and wakes people up when something is critical."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Protocol

from engine.events import Alert
from engine.health.alarm import Alarm
from engine.health.on_critical import OnCritical
from engine.monitoring.source import Source
from engine.monitoring.summary import Told

SECONDS = 0.5
"""Between two looks."""
LONGEST_PAUSE = 30.0
"""Between two tries at something that cannot be read."""


class Teller(Protocol):
    """Prints what is told."""

    def report(self, source: Source) -> None: ...

    def told(self, told: Told) -> None: ...

    def verdict(self, source: Source) -> None: ...


class Waker:
    """Rings and starts the command for what becomes critical from now on; `note` hears what went wrong with it."""

    def __init__(self, rings: bool, command: str | None, run: str, note: Callable[[str], None]) -> None:
        self._alarm = Alarm(time.time())
        self._rings = rings
        self._command = OnCritical(command, run) if command else None
        self._note = note

    def take(self, alert: Alert, t: float) -> None:
        """Take in an alert of the moment `t`."""
        if not self._alarm.is_due(alert, t):
            return
        if self._rings:
            _ring()
        if self._command is not None and (why_not := self._command.start(alert)):
            self._note(why_not)

    def look(self) -> None:
        """Hear of commands that failed."""
        for failure in self._command.failures() if self._command is not None else ():
            self._note(failure)


def follow(source: Source, teller: Teller, waker: Waker, wait: Callable[[float], None] = time.sleep) -> None:
    """Tell how things stand, then what changes, until the run is over, and how it stands then.

    Of one that is over from the first, the first is the last that there is to tell.

    What was there before wakes nobody. Raises OSError where nothing can be read from the first.
    """
    for told in source.poll():
        _wake(waker, told.alert, -math.inf)
    teller.report(source)
    if source.is_over:
        return
    pause = SECONDS
    while not source.is_over:
        sys.stdout.flush()
        wait(pause)
        try:
            for told in source.poll():
                teller.told(told)
                _wake(waker, told.alert, told.t)
            pause = SECONDS
        except OSError as error:
            if pause == SECONDS:
                teller.told(Told(time.time(), words=f"cannot be read at the moment: {error.strerror}; trying again"))
            pause = min(2 * pause, LONGEST_PAUSE)
        waker.look()
    teller.verdict(source)


def _wake(waker: Waker, alert: Alert | None, t: float) -> None:
    if alert is not None:
        waker.take(alert, t)


def _ring() -> None:
    """A bell on whichever stream is a terminal; into files and pipes it would be rubbish."""
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            stream.write("\a")
            stream.flush()
            return
