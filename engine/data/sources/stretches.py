"""Where the rows of a text file stand: a few numbers a row instead of the row itself."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bytes `start` up to `start + length` of a file, which begin in `line` (from 1)."""

    start: int
    length: int
    line: int
    checksum: int

    def holds(self, content: bytes) -> bool:
        """Whether these are the bytes that stood there when the file was scanned."""
        return len(content) == self.length and crc32(content) == self.checksum


class Stretches:
    """The stretches of all rows of a file, 24 bytes a row."""

    def __init__(self) -> None:
        self._starts = array("Q")
        self._lengths = array("Q")
        self._lines = array("I")
        self._checksums = array("I")

    def add(self, start: int, length: int, line: int, checksum: int) -> None:
        """A row more, behind the others; `checksum` is the CRC-32 of its bytes."""
        self._starts.append(start)
        self._lengths.append(length)
        self._lines.append(line)
        self._checksums.append(checksum)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> Stretch:
        return Stretch(self._starts[number], self._lengths[number], self._lines[number], self._checksums[number])
