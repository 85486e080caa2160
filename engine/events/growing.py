"""Reads a file that grows, by complete lines, and notices when it is no longer the same file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

CHUNK_BYTES = 4 * 2**20
FINGERPRINT_BYTES = 64

Restart = Literal["emptied", "replaced", "rewritten"]
"""Why a file is read from its start again: it is shorter, another file of that name, or has other bytes there."""
RESTARTED: dict[Restart, str] = {
    "emptied": "log was emptied, reading from the start",
    "replaced": "log was replaced by another file, reading that from the start; what the old one got last is not known",
    "rewritten": "log was emptied and written anew, reading from the start",
}


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file up to which somebody has read it, and how the file is known again.

    `offset` is the first byte that was not read; `head` are bytes at the file's start, `tail` those before `offset`.
    """

    offset: int
    inode: int
    head: bytes
    tail: bytes


@dataclass(frozen=True, slots=True)
class Grown:
    """The complete lines since the last poll, newlines included; `more` says that others wait already.

    `missing` says that there is no such file, or none any more.
    """

    data: bytes = b""
    restart: Restart | None = None
    more: bool = False
    missing: bool = False


class GrowingFile:
    """Each `poll` brings the bytes up to the last line end. A line still being written waits for its end.

    With `tail_bytes` a file that is already longer is read from so many bytes before its end on; `begins_torn` then
    says that the first line of the first poll is the rest of one. `ends` are the bytes that end a line. `at` is where
    to begin instead of at the start.
    """

    def __init__(
        self,
        path: Path,
        *,
        ends: tuple[bytes, ...] = (b"\n",),
        tail_bytes: int | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        at: Position | None = None,
    ) -> None:
        self.path = path
        self.offset = at.offset if at else 0
        """The first byte of the first line not yet delivered."""
        self.begins_torn = False
        self._ends = ends
        self._tail_bytes = tail_bytes
        self._chunk_bytes = chunk_bytes
        self._inode: int | None = at.inode if at else None
        self._seen: tuple[int, int, int] | None = None
        self._head = at.head if at else b""
        self._tail = at.tail if at else b""

    def poll(self) -> Grown:
        """What was completed since the last poll; nothing while the file does not exist. Raises OSError."""
        try:
            with self.path.open("rb") as file:
                return self._read(file.fileno())
        except FileNotFoundError:
            return Grown(missing=True)

    def rest(self) -> bytes:
        """What stands behind the last complete line, for when nobody writes any more; it is not delivered again."""
        try:
            with self.path.open("rb") as file:
                data = os.pread(file.fileno(), self._chunk_bytes, self.offset)
        except FileNotFoundError:
            return b""
        self._remember(data)
        return data

    def _read(self, descriptor: int) -> Grown:
        status = os.fstat(descriptor)
        signature = (status.st_ino, status.st_size, status.st_mtime_ns)
        if signature == self._seen:
            return Grown()
        if self._inode is None:
            self._begin(descriptor, status.st_size)
        restart = self._change_of(descriptor, status) if self.offset > 0 else None
        if restart is not None:
            self.offset, self._head, self._tail, self.begins_torn = 0, b"", b"", False
        self._inode = status.st_ino
        complete, seen_bytes = self._complete_lines(descriptor)
        more = self.offset + seen_bytes < status.st_size
        self._seen = None if more else signature
        self._remember(complete)
        return Grown(complete, restart, more)

    def _begin(self, descriptor: int, size: int) -> None:
        if self._tail_bytes is None or size <= self._tail_bytes:
            return
        self.offset, self.begins_torn = size - self._tail_bytes, True
        self._head = os.pread(descriptor, FINGERPRINT_BYTES, 0)
        before = min(FINGERPRINT_BYTES, self.offset)
        self._tail = os.pread(descriptor, before, self.offset - before)
        self._inode = os.fstat(descriptor).st_ino

    def _change_of(self, descriptor: int, status: os.stat_result) -> Restart | None:
        if status.st_ino != self._inode:  # a newer copy of the same log (rsync, an editor) is read on
            is_copy = status.st_size >= self.offset and self._holds_what_was_read(descriptor)
            return None if is_copy else "replaced"
        if status.st_size < self.offset:
            return "emptied"
        return None if self._holds_what_was_read(descriptor) else "rewritten"

    def _holds_what_was_read(self, descriptor: int) -> bool:
        head = os.pread(descriptor, len(self._head), 0)
        tail = os.pread(descriptor, len(self._tail), self.offset - len(self._tail))
        return head == self._head and tail == self._tail

    def _complete_lines(self, descriptor: int) -> tuple[bytes, int]:
        """Some complete lines, and how many bytes were looked through for them."""
        size = self._chunk_bytes
        while True:
            data = os.pread(descriptor, size, self.offset)
            end = self._end_of_lines(data)
            if end or len(data) < size:
                return data[:end], len(data)
            size *= 2

    def _end_of_lines(self, data: bytes) -> int:
        """A carriage return at the very end may be the half of a line end, so it waits for the next byte."""
        searched = data[:-1] if data.endswith(b"\r") else data
        return max(searched.rfind(end) for end in self._ends) + 1

    def _remember(self, data: bytes) -> None:
        self.offset += len(data)
        if len(self._head) < FINGERPRINT_BYTES:
            self._head = (self._head + data)[:FINGERPRINT_BYTES]
        self._tail = (self._tail + data[-FINGERPRINT_BYTES:])[-FINGERPRINT_BYTES:]
