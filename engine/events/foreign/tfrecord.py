"""The records of a TFRecord file that grows, as TensorBoard's writers make it.

A record is its length (uint64, little endian), the masked CRC-32C of those 8 bytes, the data, the masked CRC-32C of the
data. Source: the comments at `tensorflow/core/lib/io/record_writer.h`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")
CHUNK_BYTES = 4 * 2**20
LARGEST_READ = 64 * 1024
"""Bytes; longer records are pictures, graphs and histograms: they are stepped over unread."""
_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8


class DamagedError(ValueError):
    """What is no record stands in the file; the text says where."""


class FileShrunkError(OSError):
    """The file is shorter than what was read of it: it was written anew."""


class Records:
    """`poll` gives the records that were completed since the last time. One that is still being written waits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        """The first byte of the first record not yet given."""
        self.damaged = 0
        """Records whose data did not agree with its checksum; they are left out."""

    def poll(self) -> Iterator[bytes]:
        """Raises OSError, DamagedError where no further record can be found, and FileShrunkError."""
        with self.path.open("rb") as file:
            descriptor = file.fileno()
            size = os.fstat(descriptor).st_size
            if size < self.offset:
                raise FileShrunkError(str(self.path))
            before = -1
            while before < self.offset < size:
                before = self.offset
                yield from self._records(os.pread(descriptor, CHUNK_BYTES, before), size)

    def _records(self, data: bytes, size: int) -> Iterator[bytes]:
        begin, place = self.offset, 0
        while place + HEADER.size <= len(data):
            length, check = HEADER.unpack_from(data, place)
            if not (length or check):
                return  # room that was set aside, or a disk that lost its power: nothing is written there yet
            if masked_crc(data[place : place + 8]) != check:
                raise DamagedError(f"{self.path.name} is damaged from byte {begin + place:,} on")
            first = place + HEADER.size
            after = first + length + FOOTER.size
            if begin + after > size or (length <= LARGEST_READ and after > len(data)):
                return  # it is still being written, or the next stretch has the rest of it
            self.offset, place = begin + after, after
            if length > LARGEST_READ:
                continue
            record = data[first : first + length]
            if masked_crc(record) == FOOTER.unpack_from(data, first + length)[0]:
                yield record
            else:
                self.damaged += 1


def _table() -> tuple[int, ...]:
    entries = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        entries.append(byte)
    return tuple(entries)


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of the bytes."""
    table, crc = _TABLE, 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """As it stands in the file: rotated and moved, so that a checksum of checksums stays a good one."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF
