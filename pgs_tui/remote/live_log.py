"""The newest lines of a log on another machine, as they are written there, into its mirror."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.events.growing import FINGERPRINT_BYTES
from pgs_tui.remote.bringing import Bringing
from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.lost import LinkRefusedError
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import FOLLOW

LONGEST_LINE = 64 * 2**20
"""No event is so long; half a line waits in memory for its other half."""
_SAID_BY_TAIL = re.compile(rb"tail: (?:[^\n]*: file (truncated)|[^\n}]*)\n")
"""A line of GNU `tail` itself amid the log's bytes. No line of a log ends so: an object ends with a brace."""


class LiveLog(Bringing):
    """Puts whole lines from the byte `offset` on into the mirror, in a thread of its own, until `close` or the end.

    `took` is told of the lines and `ended` is called, both from that thread. Half a line waits for its other half:
    whoever goes on later begins with it. It ends by itself as soon as the log seems to be another one than that which
    was fetched: somebody must look then, before anything of it is put.
    """

    def __init__(
        self,
        shell: FarShell,
        folder: str,
        mirror: Mirror,
        offset: int,
        took: Callable[[bytes], None],
        ended: Callable[[], None],
        was_odd: bool = False,
    ) -> None:
        """`was_odd` says that the line at the offset seemed to be of another log, and is not."""
        super().__init__("live log", shell, ended)
        self.received = offset
        """Up to where bytes have come, the half line among them."""
        self.is_odd = False
        """True when what came last did not look like the next line of the log."""
        self._was_emptied = False
        self._known = mirror.read(offset - min(offset, FINGERPRINT_BYTES), offset)
        """What stands before the offset, which comes again first: by then there may be another file of that name."""
        self._expects_odd = was_odd
        self._folder = folder
        self._mirror = mirror
        self._offset = offset
        self._half = bytearray()
        self._took = took
        self.start()

    def _bring(self) -> None:
        again = b""
        begin = self._offset - len(self._known)
        for data in self._shell.stream(FOLLOW, self._folder, "events.jsonl", begin):
            if len(again) < len(self._known):
                again += data
                if not self._known.startswith(again[: len(self._known)]):
                    return
                data = again[len(self._known) :]
            if self._closed or not self._take(data):
                return

    def _take(self, data: bytes) -> bool:
        """Put the lines that are complete now; False where the log was emptied, or goes on amid a line."""
        if self._half and b"\n" not in data:  # a long line is put together once, and not for each of its pieces
            self._wait_for_its_end(data)
            return True
        lines = bytes(self._half) + data
        if b"tail: " in lines:
            lines = self._without_remarks(lines)
        self.is_odd = bool(lines) and not lines.startswith(b"{") and not self._expects_odd
        if self.is_odd:
            return False
        end = lines.rfind(b"\n") + 1
        self._half = bytearray(lines[end:])
        if end:
            self._mirror.put(self._offset, lines[:end])
            self._offset += end
            self._expects_odd = self._expects_odd and not lines.startswith(b"{")
            self._took(lines[:end])
        self.received = self._offset + len(self._half)
        return not self._was_emptied

    def _wait_for_its_end(self, data: bytes) -> None:
        self._half += data
        self.received += len(data)
        if len(self._half) > LONGEST_LINE:
            raise LinkRefusedError(f"a line of its log is longer than {LONGEST_LINE // 2**20} MiB: that is no event")

    def _without_remarks(self, lines: bytes) -> bytes:
        """What stands in the log, without what `tail` says; up to where it was emptied."""
        while said := _SAID_BY_TAIL.search(lines):
            if said[1]:
                self._was_emptied = True
                return lines[: said.start()]
            lines = lines[: said.start()] + lines[said.end() :]
        return lines
