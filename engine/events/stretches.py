"""Stretches of whole lines of a long file, each found without reading those before it."""

from __future__ import annotations

import os

_LOOK_BYTES = 4096


def line_start_at(descriptor: int, offset: int, end: int) -> int:
    """Where the first line from `offset` on begins; `end` where none does before that. Raises OSError."""
    if offset <= 0:
        return 0
    at = offset - 1  # a line begins behind a newline
    while at < end:
        data = os.pread(descriptor, _LOOK_BYTES, at)
        if not data:
            return end
        newline = data.find(b"\n")
        if newline >= 0:
            return min(at + newline + 1, end)
        at += len(data)
    return end


def bytes_between(descriptor: int, begin: int, end: int) -> bytes:
    """The bytes from `begin` to `end - 1`, fewer where the file ends before. Raises OSError."""
    pieces: list[bytes] = []
    while begin < end:
        data = os.pread(descriptor, end - begin, begin)
        if not data:
            break
        pieces.append(data)
        begin += len(data)
    return b"".join(pieces)


def whole_lines(data: bytes) -> bytes:
    """What stands before the last newline, and that newline."""
    return data[: data.rfind(b"\n") + 1]
