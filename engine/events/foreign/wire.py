"""The wire format of protocol buffers, as much of it as TensorBoard's events need.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")
_LONGEST_VARINT = 10

Value = int | bytes
"""A varint as the number it is, unsigned; everything else as its bytes."""


class WireError(ValueError):
    """These bytes are no message."""


def fields(message: bytes) -> Iterator[tuple[int, int, Value]]:
    """Number, wire type and value of each field in order. Raises WireError."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, place = _varint(message, place)
            yield number, kind, value
            continue
        if kind == BYTES:
            length, place = _varint(message, place)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise WireError(f"wire type {kind}")
        end = place + length
        if end > len(message):
            raise WireError("a field is longer than its message")
        yield number, kind, message[place:end]
        place = end


def signed(value: Value) -> int:
    """A varint as the int64 that it stands for."""
    if not isinstance(value, int):
        raise WireError("a number was expected")
    return value - 2**64 if value >= 2**63 else value


def double(value: Value) -> float:
    """A fixed64 as the double that it stands for."""
    return float(_DOUBLE.unpack(raw(value, 8))[0])


def single(value: Value) -> float:
    """A fixed32 as the float that it stands for."""
    return float(_FLOAT.unpack(raw(value, 4))[0])


def raw(value: Value, length: int | None = None) -> bytes:
    """The bytes of a value, `length` of them."""
    if not isinstance(value, bytes) or (length is not None and len(value) != length):
        raise WireError("bytes were expected")
    return value


def _varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    for at in range(place, min(place + _LONGEST_VARINT, len(message))):
        byte = message[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at + 1
        shift += 7
    raise WireError("a number without an end")
