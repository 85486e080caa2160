"""Where the parts of an answer begin: at lines with a mark that nobody over there could have guessed."""

from __future__ import annotations

import secrets
from typing import NamedTuple

_LONGEST_FRAME = 128


class Piece(NamedTuple):
    """Some bytes of a part. Those before the first part have none; `begins` says that a part begins, without bytes."""

    part: str | None
    data: bytes
    begins: bool = False


def new_mark() -> str:
    return f"pgs-{secrets.token_hex(16)}"


class Frames:
    """Cuts what comes by its frame lines, `MARK PART`. All other bytes are passed on at once, as they are.

    Only what could be the beginning of a frame line waits for the next bytes. No line end is ever held back by that.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode()
        self.held = b""
        self._part: str | None = None

    def feed(self, data: bytes) -> list[Piece]:
        """The pieces that are certain with these bytes."""
        data = self.held + data
        pieces: list[Piece] = []
        while (begin := data.find(self._mark)) >= 0:
            self._add(pieces, data[:begin])
            data = data[begin:]
            stop = data.find(b"\n")
            if stop < 0 and len(data) < _LONGEST_FRAME:
                break
            if not 0 <= stop < _LONGEST_FRAME:  # nothing of ours, although it has our mark
                self._add(pieces, data[: len(self._mark)])
                data = data[len(self._mark) :]
                continue
            self._part = data[len(self._mark) + 1 : stop].decode("ascii", errors="replace")
            pieces.append(Piece(self._part, b"", begins=True))
            data = data[stop + 1 :]
        else:
            certain = len(data) - _overlap(data, self._mark)
            self._add(pieces, data[:certain])
            data = data[certain:]
        self.held = data
        return pieces

    def _add(self, pieces: list[Piece], data: bytes) -> None:
        if data:
            pieces.append(Piece(self._part, data))


def _overlap(data: bytes, mark: bytes) -> int:
    """How many bytes at the end could be the beginning of the mark."""
    longest = min(len(data), len(mark) - 1)
    return next((size for size in range(longest, 0, -1) if mark.startswith(data[-size:])), 0)
