"""A first look at a long log: its beginning, a few steps from everywhere, and its newest events."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace

from engine.events.columns import Block, GpuColumns, Portion, StepColumns
from engine.events.decoding import Decoding
from engine.events.portions import portion_of
from engine.events.stretches import bytes_between, line_start_at, whole_lines
from engine.events.types import Audit, Estimate, Stamped, Start

PLACES = 400
"""How many places are looked at: more than a chart has columns."""
EDGE_BYTES = 64 * 1024
"""How much of the beginning and of the end is read whole."""
_LEAST_BYTES = 4096
_LINES_A_PLACE = 3


def survey_of(descriptor: int, size: int) -> Portion:
    """A sample of the first `size` bytes of a log, of at least 2 * EDGE_BYTES, in its order. Raises OSError."""
    first = whole_lines(bytes_between(descriptor, 0, EDGE_BYTES))
    last_begin = line_start_at(descriptor, size - EDGE_BYTES, size)
    last = whole_lines(bytes_between(descriptor, last_begin, size))
    places = _places(len(first), last_begin, _bytes_a_place(first + last))
    return survey_from(first, (bytes_between(descriptor, begin, end) for begin, end in places), last, size)


def survey_from(first: bytes, samples: Iterable[bytes], last: bytes, size: int) -> Portion:
    """The survey of a log of `size` bytes, put together from whole lines of both its ends and bytes from between.

    A sample, of bytes in a row from anywhere, begins and ends amid a line; they stand in the order of the log. Of the
    past there are steps, readings of GPUs, and what the run began with; the newest events are all there. Lines from
    amid the log have the offset -1: it is not looked up.
    """
    between = b"".join(whole_lines(data[data.find(b"\n") + 1 :]) for data in samples)
    return Portion(0, size, (*_beginning(first), *_without_offsets(between), *_events(last)))


def _bytes_a_place(lines: bytes) -> int:
    usual = len(lines) // max(lines.count(b"\n"), 1)
    return max(_LEAST_BYTES, _LINES_A_PLACE * usual)


def _places(begin: int, end: int, length: int) -> Iterator[tuple[int, int]]:
    """Where to look between two bytes: PLACES ranges of so many bytes, fewer where they would overlap."""
    width = max((end - begin) // PLACES, length)
    return ((place, place + length) for place in range(begin, end - length, width))


def _beginning(lines: bytes) -> list[Block]:
    """Alerts are left out: what became of them stands further on."""
    kept = (Start, Estimate, Audit)
    return [
        block for block in portion_of(lines).blocks if not isinstance(block, Stamped) or isinstance(block.event, kept)
    ]


def _without_offsets(lines: bytes) -> list[Block]:
    columns = (block for block in portion_of(lines).blocks if isinstance(block, StepColumns | GpuColumns))
    return [replace(block, offset=array("q", [-1]) * len(block)) for block in columns]


def _events(lines: bytes) -> list[Stamped]:
    decoding = Decoding()
    events = (decoding.event(line) for line in lines.split(b"\n"))
    return [event for event in events if event is not None]
