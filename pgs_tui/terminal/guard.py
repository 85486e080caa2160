"""The terminal is left as it was found, after signals and crashes too."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import time
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

MOUSE_OFF = "".join(f"\x1b[?{mode}l" for mode in (1000, 1002, 1003, 1005, 1006, 1015, 1016))
MODES_OFF = MOUSE_OFF + "\x1b[?2026l\x1b[?2004l\x1b[?1004l\x1b[?2048l\x1b[<u\x1b[?7h"
"""Mouse, frame lock, bracketed paste, focus reports, resize reports, keyboard protocol off; line wrap on."""
RESTORE = MODES_OFF + "\x1b[?1049l\x1b[?25h\x1b[0m"
"""The same, and the main screen with a visible cursor and plain colours."""

PATIENCE = 3.0
"""Seconds that a link may take to accept the restoring codes before a signal ends the program anyway."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class TerminalGuard:
    """While it is entered, signals that end the program put the terminal in order first.

    On entering, mouse modes that a dropped session left on are switched off, echo too, and input waiting is thrown
    away, so that stray codes are neither drawn nor taken for keys. On leaving, everything is as before.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._input = sys.__stdin__.fileno() if descriptor is None and sys.__stdin__ else descriptor or 0
        self._tty = -1
        self._attributes: list[Any] | None = None
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> TerminalGuard:
        self._tty = _open_again(self._input)
        with contextlib.suppress(termios.error):
            self._attributes = termios.tcgetattr(self._input)
            silent = termios.tcgetattr(self._input)
            silent[3] &= ~termios.ECHO
            termios.tcsetattr(self._input, termios.TCSANOW, silent)
        for number in SIGNALS:
            self._handlers[number] = signal.signal(number, self._restore_and_die)
        self.write(MOUSE_OFF)
        with contextlib.suppress(termios.error):
            termios.tcflush(self._input, termios.TCIFLUSH)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.write(MODES_OFF if kind is None else RESTORE)
        self._restore_attributes()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._tty)

    def _restore_and_die(self, number: int, frame: FrameType | None) -> None:
        """Everything that may still be written goes nowhere; then the signal does what it always does."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        self.write(RESTORE)
        self._restore_attributes()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def write(self, codes: str) -> None:
        """Write it all, behind what still waits on a slow link; not for ever, and not to a terminal that is gone."""
        left, end = codes.encode(), time.monotonic() + PATIENCE
        while left and time.monotonic() < end:
            try:
                left = left[os.write(self._tty, left) :]
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                return

    def _restore_attributes(self) -> None:
        if self._attributes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._input, termios.TCSANOW, self._attributes)


def reset_terminal() -> None:
    """Bring a terminal that a killed program left in disorder back to usual: modes, echo, line editing."""
    descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    try:
        os.write(descriptor, RESTORE.encode())
        attributes = termios.tcgetattr(descriptor)
        attributes[0] |= termios.ICRNL | termios.IXON | termios.BRKINT
        attributes[1] |= termios.OPOST | termios.ONLCR
        attributes[3] |= termios.ECHO | termios.ECHOE | termios.ICANON | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(descriptor, termios.TCSADRAIN, attributes)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def lent_terminal() -> Iterator[None]:
    """While another program asks: no reports of a mouse that a dropped session left on; afterwards all as it was.

    Nothing is done without a terminal, or in the background, where it belongs to others.
    """
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        yield
        return
    try:
        if os.tcgetpgrp(descriptor) != os.getpgrp():
            yield
            return
        os.write(descriptor, MOUSE_OFF.encode())
        termios.tcflush(descriptor, termios.TCIFLUSH)
        attributes = termios.tcgetattr(descriptor)
        try:
            yield
        finally:
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    finally:
        os.close(descriptor)


def _open_again(descriptor: int) -> int:
    """The same terminal on a description of its own, so that not to block on it touches nobody else."""
    try:
        return os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return os.dup(descriptor)
