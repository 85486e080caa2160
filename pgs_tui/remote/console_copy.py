"""The newest part of a `console.log` on another machine, in the mirror."""

from __future__ import annotations

from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import PART
from pgs_tui.runs.console import TAIL_BYTES

KNOWN_BYTES = 64
"""So much of what was copied last is asked for again: other bytes there are another log."""


class ConsoleCopy:
    """Each `bring` copies what has been written since the last one; of what was there before only the end is wanted.

    `size` is how many bytes it had first, None where nobody over there can tell: then its end comes each time, and
    what stands in it behind the last known bytes is new.
    """

    def __init__(self, mirror: Mirror, folder: str, size: int | None) -> None:
        self._mirror = mirror
        self._folder = folder
        self._offset = max((size or 0) - TAIL_BYTES, 0)
        self._counts = size is not None
        self._known = b""
        self._begins_torn = self._offset > 0
        mirror.write(mirror.run.console_log, b"")

    def bring(self, desk: FarShell) -> None:
        """Raises LinkLostError."""
        news = self._since(desk) if self._counts else self._amid_the_end(self._asked(desk, 0))
        if news is None:
            self._begin_anew()
            news = self._asked(desk, 0)
        self._offset += len(news)
        self._known = (self._known + news)[-KNOWN_BYTES:]
        if self._begins_torn and news:
            news = news[news.find(b"\n") + 1 :]
            self._begins_torn = False
        if news:
            self._mirror.append(self._mirror.run.console_log, news)

    def _since(self, desk: FarShell) -> bytes | None:
        """What stands behind the known bytes; None where these are not at their place."""
        data = self._asked(desk, self._offset - len(self._known))
        return data[len(self._known) :] if data.startswith(self._known) else None

    def _amid_the_end(self, end: bytes) -> bytes | None:
        if not self._known:
            self._begins_torn = len(end) == TAIL_BYTES
            return end
        place = end.rfind(self._known)
        return None if place < 0 else end[place + len(self._known) :]

    def _begin_anew(self) -> None:
        self._mirror.write(self._mirror.run.console_log, b"")
        self._offset, self._known, self._begins_torn = 0, b"", False

    def _asked(self, desk: FarShell, begin: int) -> bytes:
        return desk.ask(PART, self._folder, "console.log", begin, TAIL_BYTES, limit=TAIL_BYTES)["bytes"]
