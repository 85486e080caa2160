"""Follows a growing `events.jsonl` without losing, doubling or inventing an event."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from engine.events.codec import BadLineError, decode
from engine.events.types import Stamped

CHUNK_BYTES = 4 * 2**20
_FINGERPRINT_BYTES = 64
_MAX_NOTES = 5


@dataclass(frozen=True, slots=True)
class Batch:
    """What one poll brought: events in file order, remarks for people, and how many lines were no events.

    `restarted` says that the log was emptied or replaced and these events come from its new start; `more` that the
    poll stopped at its size limit with complete lines still waiting.
    """

    events: tuple[Stamped, ...] = ()
    notes: tuple[str, ...] = ()
    bad_lines: int = 0
    restarted: bool = False
    more: bool = False

    def __bool__(self) -> bool:
        return bool(self.events or self.notes or self.bad_lines or self.restarted)


class EventReader:
    """Reads complete lines only: a line still being written waits for its newline.

    A log that was cut, replaced or rewritten in place is noticed by its size, its inode or the bytes around the last
    position, and read again from its start.
    """

    def __init__(self, path: Path, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.path = path
        self.offset = 0
        """The first byte of the first line not yet delivered."""
        self._chunk_bytes = chunk_bytes
        self._inode: int | None = None
        self._seen: tuple[int, int, int] | None = None
        self._head = b""
        self._tail = b""

    def poll(self) -> Batch:
        """The events that were completed since the last poll; an empty batch while the file does not exist."""
        try:
            with self.path.open("rb") as file:
                return self._read(file.fileno())
        except FileNotFoundError:
            return Batch()

    def _read(self, descriptor: int) -> Batch:
        status = os.fstat(descriptor)
        signature = (status.st_ino, status.st_size, status.st_mtime_ns)
        if signature == self._seen:
            return Batch()
        restarted = self.offset > 0 and not self._is_the_same_log(descriptor, status)
        if restarted:
            self.offset, self._head, self._tail = 0, b"", b""
        self._inode = status.st_ino
        complete = self._complete_lines(descriptor)
        more = self.offset + len(complete) < status.st_size and len(complete) >= self._chunk_bytes // 2
        self._seen = None if more else signature
        self._remember(complete)
        notes = ["log was emptied, reading from the start"] if restarted else []
        return _parse(complete, notes, restarted, more)

    def _is_the_same_log(self, descriptor: int, status: os.stat_result) -> bool:
        if status.st_ino != self._inode or status.st_size < self.offset:
            return False
        head = os.pread(descriptor, len(self._head), 0)
        tail = os.pread(descriptor, len(self._tail), self.offset - len(self._tail))
        return head == self._head and tail == self._tail

    def _complete_lines(self, descriptor: int) -> bytes:
        size = self._chunk_bytes
        while True:
            data = os.pread(descriptor, size, self.offset)
            end = data.rfind(b"\n") + 1
            if end or len(data) < size:
                return data[:end]
            size *= 2

    def _remember(self, complete: bytes) -> None:
        self.offset += len(complete)
        if len(self._head) < _FINGERPRINT_BYTES:
            self._head = (self._head + complete)[:_FINGERPRINT_BYTES]
        self._tail = (self._tail + complete[-_FINGERPRINT_BYTES:])[-_FINGERPRINT_BYTES:]


def _parse(complete: bytes, notes: list[str], restarted: bool, more: bool) -> Batch:
    events: list[Stamped] = []
    bad_lines = 0
    for line in complete.split(b"\n"):
        if not line.strip():
            continue
        try:
            event = decode(line.decode("utf-8"))
        except (BadLineError, UnicodeDecodeError) as error:
            bad_lines += 1
            if bad_lines <= _MAX_NOTES:
                notes.append(f"skipped a line that is no event ({error})")
            continue
        if event is not None:
            events.append(event)
    return Batch(tuple(events), tuple(notes), bad_lines, restarted, more)
