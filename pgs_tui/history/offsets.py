"""Where the line of each step begins in the log."""

from __future__ import annotations

from array import array

BLOCK = 256
UNKNOWN = 2**32 - 1
"""Bytes; a line that lies further behind the first of its block is not found again."""


class Offsets:
    """The first byte of each line, kept as its distance from the first known one among 256."""

    def __init__(self) -> None:
        self._bases = array("q")
        self._distances = array("I")

    def __len__(self) -> int:
        return len(self._distances)

    def __getitem__(self, index: int) -> int:
        """The first byte, -1 where it is not known."""
        distance = self._distances[index]
        return self._bases[index // BLOCK] + distance if distance != UNKNOWN else -1

    def append(self, offset: int) -> None:
        """Add the next line; below 0 says that it is not known where it begins."""
        self.extend(array("q", [offset]))

    def extend(self, offsets: array[int]) -> None:
        """Add many lines."""
        place = 0
        while place < len(offsets):
            block, filled = divmod(len(self._distances), BLOCK)
            some = offsets[place : place + BLOCK - filled]
            self._add(block, some)
            place += len(some)

    def forget(self) -> None:
        """None of the lines is where it was any more."""
        self._distances = array("I", [UNKNOWN]) * len(self._distances)
        self._bases = array("q", [-1]) * len(self._bases)

    def truncate(self, length: int) -> None:
        """Forget the lines from index `length` on."""
        del self._distances[length:]
        del self._bases[-(-length // BLOCK) :]

    def _add(self, block: int, offsets: array[int]) -> None:
        if block == len(self._bases):
            self._bases.append(-1)
        if self._bases[block] < 0:
            self._bases[block] = next((offset for offset in offsets if offset >= 0), -1)
        base = self._bases[block]
        if base <= min(offsets) and max(offsets) - base < UNKNOWN and base >= 0:
            self._distances.extend([offset - base for offset in offsets])
        else:
            self._distances.extend(map(_distance, offsets, [base] * len(offsets)))


def _distance(offset: int, base: int) -> int:
    distance = offset - base
    return distance if offset >= 0 and 0 <= distance < UNKNOWN else UNKNOWN
