"""A first look at a long log: its beginning, a few steps from everywhere, and its newest events."""

from __future__ import annotations

from array import array
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
    """A sample of the first `size` bytes of a log, of at least 2 * EDGE_BYTES, in the order of the log. Raises OSError.

    Of the past there are steps, readings of GPUs, and what the run began with; the newest events are all there. Lines
    from amid the log have the offset -1: it is not looked up.
    """
    first = whole_lines(bytes_between(descriptor, 0, EDGE_BYTES))
    last_begin = line_start_at(descriptor, size - EDGE_BYTES, size)
    last = whole_lines(bytes_between(descriptor, last_begin, size))
    between = _sample(descriptor, len(first), last_begin, _bytes_a_place(first + last))
    blocks = (*_beginning(first), *_without_offsets(between), *_events(last))
    return Portion(0, size, blocks)


def _bytes_a_place(lines: bytes) -> int:
    usual = len(lines) // max(lines.count(b"\n"), 1)
    return max(_LEAST_BYTES, _LINES_A_PLACE * usual)


def _sample(descriptor: int, begin: int, end: int, length: int) -> bytes:
    """A few whole lines from each of PLACES places."""
    width = max((end - begin) // PLACES, length)
    samples = []
    for place in range(begin, end - length, width):
        data = bytes_between(descriptor, place, place + length)
        samples.append(whole_lines(data[data.find(b"\n") + 1 :]))
    return b"".join(samples)


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
