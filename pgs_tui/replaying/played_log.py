"""The log of a run, read once: which part of it had been told by a moment, and that part as blocks."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.events.columns import Block, Portion
from engine.events.portions import portion_of
from engine.events.stretches import bytes_between, line_start_at, whole_lines
from pgs_tui.replaying.timeline import Moment, Timeline
from pgs_tui.runs.past import past_of

STRETCH_BYTES = 256 * 1024
_TIME = re.compile(rb'"t":\s*(-?[0-9][0-9.eE+-]*)')
_HEAD_BYTES = 200
"""Where in a line its time stands."""


class PlayedLog:
    """`read` it, then ask. Raises OSError where the log cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDONLY)
        self._portions: list[Portion] = []
        self.notes: list[str] = []
        """What in it was no event."""

    def read(self) -> Iterator[float]:
        """Read all complete lines; gives the share that has been read, now and then. Raises OSError."""
        size = os.fstat(self._descriptor).st_size
        for portion in self._read(size):
            self._portions.append(portion)
            self.notes += portion.notes
            yield portion.end / max(size, 1)

    def timeline(self) -> Timeline | None:
        """When what was told; None where there is no event with a time."""
        size = self._portions[-1].end if self._portions else 0
        head = whole_lines(bytes_between(self._descriptor, 0, min(STRETCH_BYTES, size)))
        tail = whole_lines(bytes_between(self._descriptor, max(size - STRETCH_BYTES, 0), size))
        first, last = _first_time(head.splitlines()), _first_time(reversed(tail.splitlines()))
        if first is None or last is None:
            return None
        return Timeline([block for portion in self._portions for block in portion.blocks], first, last, size)

    def told_by(self, moment: Moment) -> int:
        """The byte behind the last line that had been told by then. Raises OSError."""
        end = line_start_at(self._descriptor, moment.upto, moment.limit)
        for line in whole_lines(bytes_between(self._descriptor, end, moment.limit)).splitlines(keepends=True):
            t = _time_of(line)
            if t is not None and t > moment.t:
                break
            end += len(line)
        return end

    def blocks(self, begin: int, end: int) -> Iterator[Block]:
        """What the whole lines at the bytes from `begin` to `end - 1` tell. Raises OSError."""
        place = bisect_right(self._portions, begin, key=lambda one: one.end)
        while begin < end and place < len(self._portions):
            portion = self._portions[place]
            if portion.begin == begin and portion.end <= end:
                yield from portion.blocks
            else:
                until = min(portion.end, end)
                yield from portion_of(whole_lines(bytes_between(self._descriptor, begin, until)), begin).blocks
            begin, place = portion.end, place + 1

    def line_start_near(self, offset: int, end: int) -> int:
        """Where a stretch of whole lines may end: at the first line from `offset` on, or `end`. Raises OSError."""
        return line_start_at(self._descriptor, offset, end)

    def close(self) -> None:
        """Nothing will be asked any more."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _read(self, size: int) -> Iterator[Portion]:
        begin = 0
        past = past_of(self._path)
        if past is not None:
            try:
                while portion := past.portion():
                    begin = portion.end
                    yield portion
            finally:
                past.close()
        while begin < size:
            end = line_start_at(self._descriptor, begin + STRETCH_BYTES, size)
            lines = whole_lines(bytes_between(self._descriptor, begin, end))
            if not lines:
                return
            yield portion_of(lines, begin)
            begin += len(lines)


def _first_time(lines: Iterable[bytes]) -> float | None:
    return next((t for line in lines if (t := _time_of(line)) is not None), None)


def _time_of(line: bytes) -> float | None:
    found = _TIME.search(line, 0, _HEAD_BYTES)
    try:
        return float(found[1]) if found else None
    except ValueError:
        return None
