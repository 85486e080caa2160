"""An event of TensorBoard to the numbers it tells.

Field numbers as in `event.proto`, `summary.proto`, `tensor.proto` and `types.proto` of TensorBoard.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from engine.events.foreign import wire

_WALL_TIME, _STEP, _SUMMARY, _SESSION_LOG = 1, 2, 5, 7
_SUMMARY_VALUE = 1
_TAG, _SIMPLE_VALUE, _TENSOR = 1, 2, 8
_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
_DIMENSION, _DIMENSION_SIZE = 2, 1
_STATUS, _STARTED = 1, 1
_FORMATS = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 19: "<e"}
"""By the number of the type: how `tensor_content` holds one value (float, double, int32, int64, half)."""
_BFLOAT16 = 14
_FLOATS, _DOUBLES, _INTS, _INT64S = 5, 6, 7, 10
"""Where a tensor holds its values, if not in `tensor_content`."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number under its tag; `t` in unix seconds."""

    t: float
    step: int
    tag: str
    value: float


@dataclass(frozen=True, slots=True)
class Purge:
    """A writer began anew: what was told of this step and of later ones is void."""

    t: float
    step: int


def told_in(event: bytes) -> Iterator[Scalar | Purge]:
    """What an event tells; nothing where it holds other things than numbers. Raises WireError."""
    t, step = 0.0, 0
    summaries: list[bytes] = []
    restarts = False
    for number, kind, value in wire.fields(event):
        if number == _WALL_TIME and kind == wire.FIXED64:
            t = wire.double(value)
        elif number == _STEP and kind == wire.VARINT:
            step = wire.signed(value)
        elif number == _SUMMARY:
            summaries.append(wire.raw(value))
        elif number == _SESSION_LOG:
            restarts = (_STATUS, wire.VARINT, _STARTED) in wire.fields(wire.raw(value))
    if restarts and step > 0:
        yield Purge(t, step)
    for summary in summaries:
        for number, _, value in wire.fields(summary):
            if number == _SUMMARY_VALUE:
                yield from _scalar(wire.raw(value), t, step)


def _scalar(value: bytes, t: float, step: int) -> Iterator[Scalar]:
    tag, number = "", None
    for field, kind, content in wire.fields(value):
        if field == _TAG:
            tag = wire.raw(content).decode("utf-8", "replace")
        elif field == _SIMPLE_VALUE and kind == wire.FIXED32:
            number = wire.single(content)
        elif field == _TENSOR:
            number = number_of_tensor(wire.raw(content))
    if tag and number is not None:
        yield Scalar(t, step, tag, number)


def number_of_tensor(tensor: bytes) -> float | None:
    """The value of a tensor that holds one number; None for any other."""
    kind, elements, content = 0, 1, b""
    values: list[float] = []
    for number, wire_type, value in wire.fields(tensor):
        if number == _DTYPE:
            kind = wire.signed(value)
        elif number == _SHAPE:
            elements = _elements(wire.raw(value))
        elif number == _CONTENT:
            content = wire.raw(value)
        elif number in (_FLOATS, _DOUBLES):
            form = "<f" if number == _FLOATS else "<d"
            values += [float(one) for (one,) in struct.iter_unpack(form, _whole_values(wire.raw(value), form))]
        elif number in (_INTS, _INT64S):
            values.append(float(wire.signed(value) if wire_type == wire.VARINT else _first_varint(wire.raw(value))))
    if elements != 1:
        return None
    return values[0] if len(values) == 1 else _content(content, kind)


def _elements(shape: bytes) -> int:
    sizes = [
        wire.signed(size)
        for number, _, dimension in wire.fields(shape)
        if number == _DIMENSION
        for field, _, size in wire.fields(wire.raw(dimension))
        if field == _DIMENSION_SIZE
    ]
    return math.prod(sizes)


def _content(content: bytes, kind: int) -> float | None:
    if kind == _BFLOAT16 and len(content) == 2:
        return float(struct.unpack("<f", b"\0\0" + content)[0])
    form = _FORMATS.get(kind)
    return float(struct.unpack(form, content)[0]) if form and len(content) == struct.calcsize(form) else None


def _whole_values(data: bytes, form: str) -> bytes:
    return data[: len(data) - len(data) % struct.calcsize(form)]


def _first_varint(data: bytes) -> int:
    """Packed integers look like the value of a field whose key was left out."""
    return wire.signed(next(wire.fields(b"\x08" + data))[2])
