"""JSON Lines: one object a line."""

from __future__ import annotations

from typing import BinaryIO
from zlib import crc32

from engine.data.sources.stretches import Stretches


def find_lines(stream: BinaryIO, start: int) -> Stretches:
    """The lines of a file that begins at byte `start`; those with nothing but white space are left out."""
    found = Stretches()
    for number, line in enumerate(stream, start=1):
        if not line.isspace():
            found.add(start, len(line), number, crc32(line))
        start += len(line)
    return found
