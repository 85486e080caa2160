"""The newest lines of an engine's `console.log`."""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from collections import deque
from pathlib import Path

TAIL_BYTES = 64 * 1024
"""How much of a log that is already long is read when it is first opened."""


class ConsoleTail:
    """Follows a text file: each `poll` returns the lines completed since the last one.

    A file that shrank is read again from its start. The last line is held back until its newline comes; `rest` gives
    it.
    """

    def __init__(self, path: Path, tail_bytes: int = TAIL_BYTES) -> None:
        self._path = path
        self._tail_bytes = tail_bytes
        self._offset: int | None = None
        self._inode = 0
        self._partial = ""
        self._restart()

    def poll(self) -> tuple[str, ...]:
        """The lines since the last poll, none while the file does not exist."""
        try:
            with self._path.open("rb") as file:
                return self._read(file.fileno())
        except FileNotFoundError:
            return ()

    def rest(self) -> tuple[str, ...]:
        """The unfinished last line, as one line, when the writer is gone."""
        rest, self._partial = self._partial, ""
        return (rest,) if rest else ()

    def _restart(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""

    def _read(self, descriptor: int) -> tuple[str, ...]:
        status = os.fstat(descriptor)
        torn = False
        if self._offset is None:
            self._offset = max(0, status.st_size - self._tail_bytes)
            torn = self._offset > 0
        elif status.st_size < self._offset or status.st_ino != self._inode:
            self._offset = 0
            self._restart()
        self._inode = status.st_ino
        data = os.pread(descriptor, status.st_size - self._offset, self._offset)
        self._offset += len(data)
        lines = (self._partial + self._decode(data)).replace("\r\n", "\n").split("\n")
        self._partial = lines.pop()
        return tuple(lines[1:] if torn else lines)


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """The last `count` lines of the file that are not empty, an unfinished one included; none when there is no file."""
    tail = ConsoleTail(path)
    lines = deque((line for line in (*tail.poll(), *tail.rest()) if line.strip()), maxlen=count)
    return tuple(lines)
