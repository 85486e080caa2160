"""One step read back from the log: what is too much to keep of every step stands in its line."""

from __future__ import annotations

import os
from pathlib import Path

from engine.events import BadLineError, Step, decode

CHUNK_BYTES = 16 * 2**10
LONGEST_LINE = 4 * 2**20
"""Bytes; a line that is longer is not read back."""


class LogLines:
    """Reads single lines of a log by the byte at which they begin."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def step(self, offset: int) -> Step | None:
        """The step whose line begins there; None where there is none any more, or the log cannot be read."""
        line = self._line(offset) if offset >= 0 else b""
        try:
            stamped = decode(line)
        except (BadLineError, UnicodeDecodeError):
            return None
        return stamped.event if stamped is not None and isinstance(stamped.event, Step) else None

    def _line(self, offset: int) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return b""
        try:
            size = CHUNK_BYTES
            while True:
                data = os.pread(descriptor, size, offset)
                end = data.find(b"\n")
                if end >= 0 or len(data) < size or size >= LONGEST_LINE:
                    return data[: max(end, 0)]
                size *= 4
        except OSError:
            return b""
        finally:
            os.close(descriptor)
