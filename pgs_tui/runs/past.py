"""The past of a long run, read by other processes while the screen starts and while it answers keys."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.runs.past_workers import Workers

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.events import EventReader
    from engine.events.columns import Portion

LONG_BYTES = 2 * 2**20
"""A shorter log is read as quickly without help."""
NEWEST_BYTES = 256 * 1024
"""The end of a log is no past: it is followed, event by event."""
OWN_STRETCH_BYTES = 128 * 1024
"""How much is read at a time without help: little, so that keys are answered in between."""
FOLLOWED_BYTES = 256 * 1024
"""How much of what is new is read at a time, for the same reason."""
MOST_WORKERS = 2
FINGERPRINT_BYTES = 64


class Past:
    """The first `end` bytes of a log of `size`, whole lines, as portions in order; then `reader` follows the rest.

    With `workers` they are read by other processes. If these fail, or where there are none, this process reads.
    `fetched` says of a log that is still being fetched how many bytes are there from the start on, those about its
    `end` besides; such a one is surveyed otherwise.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        size: int,
        end: int,
        workers: int,
        fetched: Callable[[], int] | None = None,
    ) -> None:
        self.path = path
        self.size = size
        self.end = end
        self.offset = 0
        """The first byte that `portion` has not given yet."""
        self._descriptor = descriptor
        self._inode = os.fstat(descriptor).st_ino
        self._head = os.pread(descriptor, FINGERPRINT_BYTES, 0)
        self._tail = os.pread(descriptor, FINGERPRINT_BYTES, end - FINGERPRINT_BYTES)
        self._fetched = fetched
        self._lines_until = 0
        """Up to where there are whole lines of a log that is being fetched."""
        self._unwanted = False
        self._surveyed = fetched is not None
        self._workers = Workers(descriptor, workers, (size, end), tells=fetched is not None)

    @property
    def progress(self) -> float:
        """The share of it that has been given; of a log that is being fetched, fetching is half of the way."""
        given = self.offset / self.end
        return given if self._fetched is None else (given + min(self._fetched() / self.end, 1.0)) / 2

    @property
    def waits(self) -> bool:
        """True while what comes next is still being fetched."""
        if self._fetched is None or self._lines_until >= self.end or self._unwanted:
            return False
        wanted = self._workers.next_end or self.offset + OWN_STRETCH_BYTES
        if (there := min(self._fetched(), self.end)) > self._lines_until:
            self._lines_until = _last_line_end(self._descriptor, self._lines_until, there)
            self._workers.tell(self._lines_until)
        return self._lines_until < min(wanted, self.end)

    def survey(self) -> Portion | None:
        """A sample of the whole log, to be shown until all is read; once, before any portion. Raises OSError."""
        from engine.events.survey import survey_of

        self._surveyed = True
        found = self._workers.survey()
        return found if found or self._unwanted else survey_of(self._descriptor, self.size)

    def portion(self) -> Portion | None:
        """The next portion, None when there is no other. Raises OSError, and may then be asked again.

        Not to be asked while it `waits`.
        """
        if self.offset >= self.end:
            return None
        assert not self.waits, "nobody reads what is not there"
        if not self._surveyed:  # the workers begin with it
            self.survey()
        portion = self._workers.portion(self.offset)
        if self._unwanted:
            return None
        if portion is None:
            portion = self._own_portion()
            was_cut = portion.end == portion.begin
            self.offset = self.end if was_cut else portion.end  # whoever follows the log will see what became of it
        else:
            self.offset = portion.end
        return portion

    def reader(self) -> EventReader:
        """Who follows the log from here on. It notices if what was given is no longer what the log says."""
        from engine.events import EventReader
        from engine.events.growing import Position

        at = Position(self.end, self._inode, self._head, self._tail)
        return EventReader(self.path, FOLLOWED_BYTES, at)

    def stop(self) -> None:
        """Nobody wants it any more: whoever waits for a portion gets none. From any thread."""
        self._unwanted = True
        self._workers.kill()

    def close(self) -> None:
        """Nothing will be asked any more; from the thread that asked."""
        self.stop()
        self._workers.end()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _own_portion(self) -> Portion:
        from engine.events.portions import portion_of
        from engine.events.stretches import bytes_between, line_start_at, whole_lines

        end = line_start_at(self._descriptor, self.offset + OWN_STRETCH_BYTES, self.end)
        return portion_of(whole_lines(bytes_between(self._descriptor, self.offset, end)), self.offset)


def past_of(path: Path, workers: int | None = None) -> Past | None:
    """The past of a log, if it has one that is worth its own way; its readers begin at once.

    `workers` is their number; None leaves it to the machine. A log that cannot be read has no past either: whoever
    follows it will say so.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        end = _where_the_newest_begins(descriptor, size) if size >= LONG_BYTES else None
        if end is not None:
            return Past(path, descriptor, size, end, usual_workers() if workers is None else workers)
    except OSError:
        pass
    os.close(descriptor)
    return None


def _last_line_end(descriptor: int, begin: int, end: int) -> int:
    """Behind the last newline between two bytes; `begin` where there is none. Raises OSError."""
    while end > begin:
        place = max(begin, end - NEWEST_BYTES)
        newline = os.pread(descriptor, end - place, place).rfind(b"\n")
        if newline >= 0:
            return place + newline + 1
        end = place
    return begin


def _where_the_newest_begins(descriptor: int, size: int) -> int | None:
    newline = os.pread(descriptor, NEWEST_BYTES, size - NEWEST_BYTES).find(b"\n")
    return None if newline < 0 else size - NEWEST_BYTES + newline + 1


def usual_workers() -> int:
    """Each takes a core, beside the one of the screen, for as long as there is something to read."""
    can_start_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, cores) if can_start_python else 0
