"""Textual's terminal driver with an input thread that stray bytes cannot kill."""

from __future__ import annotations

import os
import signal
from codecs import getincrementaldecoder
from select import select

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import MouseEvent
from textual.message import Message

from pgs_tui.appearance.splash import ALTERNATE_SCREEN
from pgs_tui.terminal.mouse_reports import MouseReports

_WAIT_SECONDS = 0.1
_PATIENCE_SECONDS = 1.0
"""How long the rest of a report may be on its way over a slow link."""


class SturdyDriver(LinuxDriver):
    """Makes stray mouse reports harmless, replaces what is not UTF-8, and ends when the terminal is gone.

    The splash has switched to the alternate screen already. Switching again would only make the screen flash.
    """

    _on_alternate_screen = True

    def write(self, data: str) -> None:
        """Send to the terminal."""
        if data == ALTERNATE_SCREEN and self._on_alternate_screen:
            self._on_alternate_screen = False
        else:
            super().write(data)

    @property
    def is_behind(self) -> bool:
        """The terminal has yet to take what was sent before the last: its link is slow, or stands still."""
        writer = self._writer_thread
        return writer is not None and not writer._queue.empty()

    def run_input_thread(self) -> None:
        """Read keys until the application ends."""
        parser, reports = XTermParser(self._debug), MouseReports()
        decode = getincrementaldecoder("utf-8")("replace").decode
        waited = 0.0
        while not self.exit_event.is_set():
            readable, _, _ = select([self.fileno], [], [], _WAIT_SECONDS)
            data = b""
            if readable:
                waited, data = 0.0, reports.feed(typed := self._read())
                if not typed:
                    return
            elif not reports.is_open:
                reports.forget()
            elif (waited := waited + _WAIT_SECONDS) >= _PATIENCE_SECONDS:
                data = reports.closing()
            self._parse(parser, decode(data), may_end=not reports.is_open)

    def _parse(self, parser: XTermParser, text: str, may_end: bool) -> None:
        """Pass on what was typed; with `may_end` an Escape behind which nothing came is the key."""
        if text:  # an empty text would tell the parser that there is no more to come
            for message in parser.feed(text):
                self.process_message(message)
        for message in parser.tick() if may_end else ():
            self.process_message(message)

    def process_message(self, message: Message) -> None:
        """Pass on; but no report of a mouse that nobody asked for."""
        if self._mouse or not isinstance(message, MouseEvent):
            super().process_message(message)

    def _read(self) -> bytes:
        """What was typed; nothing when the terminal is gone, which is treated as the hang-up that it is."""
        try:
            data = os.read(self.fileno, 4096)
        except OSError:
            data = b""
        if not data:
            os.kill(os.getpid(), signal.SIGHUP)
        return data
