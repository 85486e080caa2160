"""Follows a growing `events.jsonl` without losing, doubling or inventing an event."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from engine.events.decoding import Decoding
from engine.events.growing import CHUNK_BYTES, RESTARTED, GrowingFile, Position, Restart
from engine.events.types import Stamped


@dataclass(frozen=True, slots=True)
class Batch:
    """What one poll brought: events in file order, remarks for people, and how many lines were no events.

    The lines of `events` begin at the bytes `offsets`. `restarted` says that the log was emptied or replaced and these
    events come from its new start; `more` that the poll stopped at its size limit with complete lines still waiting.
    """

    events: tuple[Stamped, ...] = ()
    notes: tuple[str, ...] = ()
    bad_lines: int = 0
    restarted: bool = False
    more: bool = False
    offsets: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.notes or self.bad_lines or self.restarted)


class EventReader:
    """Reads complete lines only: a line still being written waits for its newline.

    A log that was cut, replaced or rewritten in place is noticed by its size, its inode or the bytes around the last
    position, and read again from its start. `at` is where to begin, what stands before having been read already.
    """

    def __init__(self, path: Path, chunk_bytes: int = CHUNK_BYTES, at: Position | None = None) -> None:
        self.path = path
        self._file = GrowingFile(path, chunk_bytes=chunk_bytes, at=at)

    @property
    def offset(self) -> int:
        """The first byte of the first line not yet delivered."""
        return self._file.offset

    def poll(self) -> Batch:
        """The events that were completed since the last poll; an empty batch while the file does not exist yet.

        Raises OSError, FileNotFoundError once a file that was read is gone. It may then be asked again.
        """
        grown = self._file.poll()
        if grown.missing and self.offset > 0:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path))
        if not grown.data and grown.restart is None:
            return Batch()
        begin = self._file.offset - len(grown.data)
        return _parse(grown.data, begin, grown.restart, grown.more)


def _parse(complete: bytes, begin: int, restart: Restart | None, more: bool) -> Batch:
    decoding = Decoding()
    events: list[Stamped] = []
    offsets: list[int] = []
    for line in complete.split(b"\n"):
        event = decoding.event(line)
        if event is not None:
            events.append(event)
            offsets.append(begin)
        begin += len(line) + 1
    notes = (RESTARTED[restart],) if restart else ()
    return Batch(
        tuple(events), (*notes, *decoding.notes), decoding.bad_lines, restart is not None, more, tuple(offsets)
    )
