"""Textual's terminal driver with an input thread that stray bytes cannot kill."""

from __future__ import annotations

import os
import re
import signal
from codecs import getincrementaldecoder
from select import select

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from pgs_tui.splash import ALTERNATE_SCREEN

_OLD_MOUSE_REPORT = re.compile(rb"\x1b\[M[\x20-\xff]{3}")
"""Three raw bytes behind the code, which need not be UTF-8; sent by terminals left in mouse mode by a lost session."""
_WAIT_SECONDS = 0.1


class SturdyDriver(LinuxDriver):
    """Drops mouse reports of the oldest protocol, replaces what is not UTF-8, and ends when the terminal is gone.

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
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        while not self.exit_event.is_set():
            readable, _, _ = select([self.fileno], [], [], _WAIT_SECONDS)
            if readable:
                data = self._read()
                if not data:
                    return
                text = decode(_OLD_MOUSE_REPORT.sub(b"", data))
                if text:  # an empty text would tell the parser that there is no more to come
                    for message in parser.feed(text):
                        self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def _read(self) -> bytes:
        """What was typed; nothing when the terminal is gone, which is treated as the hang-up that it is."""
        try:
            data = os.read(self.fileno, 4096)
        except OSError:
            data = b""
        if not data:
            os.kill(os.getpid(), signal.SIGHUP)
        return data
