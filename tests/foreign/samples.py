"""Files that other tools wrote (tests/foreign/files/make.py), and the writing of such files bit by bit."""

from __future__ import annotations

import struct
from pathlib import Path

from engine.events import Eval, Event, Stamped, Step
from engine.events.foreign.recognised import recognised
from engine.events.foreign.tfrecord import masked_crc
from engine.foreign.judged import ForeignEvents

FILES = Path(__file__).parent / "files"
TRAINER = FILES / "trainer"
STATE = TRAINER / "trainer_state.json"
BOARD = TRAINER / "runs" / "first"
TENSORS = FILES / "tensorboard"
CONSOLE = TRAINER / "console.txt"


def events_of(path: Path, polls: int = 2) -> list[Event]:
    """What is told of training at that path."""
    reader = ForeignEvents(recognised(path))
    return [stamped.event for _ in range(polls) for stamped in reader.poll().events]


def steps_of(events: list[Event]) -> list[Step]:
    return [event for event in events if isinstance(event, Step)]


def evals_of(events: list[Event]) -> list[Eval]:
    return [event for event in events if isinstance(event, Eval)]


def news(reader: ForeignEvents) -> list[Stamped]:
    return list(reader.poll().events)


def record(data: bytes) -> bytes:
    """A record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def scalar(step: int, tag: str, value: float, t: float | None = None) -> bytes:
    """The record of one simple value."""
    told = _bytes(1, _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
    when = b"\x09" + struct.pack("<d", 1_700_000_000.0 + step if t is None else t)
    return record(when + b"\x10" + _varint(step) + _bytes(5, told))


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    out = bytearray()
    while True:
        out.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(out)
