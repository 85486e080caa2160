"""Reports of a mouse in what a terminal sends, also those that nobody asked for, torn wherever a link tears them."""

from __future__ import annotations

import re

_ESCAPE = 0x1B
_FIRST_PRINTABLE = 0x20
_OLDEST = b"\x1b[M"
"""Three coordinates follow, a byte each, or in mode 1005 one or two bytes of UTF-8 each."""
_COORDINATES = 3
_FILLER = b"!"
_PARTIAL = re.compile(rb"\x1b(\[(<|(<?\d[\d;]*))?)?")
"""How a report of the modes 1006 and 1015 begins, and many a key."""
_KEY_ALONE = 2
"""Escape, and Escape with a bracket, can be keys that somebody pressed."""


class MouseReports:
    """Give it every byte with `feed`; what it returns can be decoded and parsed.

    A terminal that a lost session left in mouse mode sends the oldest reports, whose coordinates may be any bytes: as
    text they would be keys. They are made harmless, each still as long as a parser expects it. `is_open` says that a
    report has begun that cannot be a key: then the rest is worth waiting for, and `closing` ends it where none comes.
    """

    def __init__(self) -> None:
        self._begun = b""
        self._missing = 0
        self._may_go_on = False

    @property
    def is_open(self) -> bool:
        """Whether the last bytes are the beginning of a report."""
        return self._missing > 0 or len(self._begun) > _KEY_ALONE

    def feed(self, data: bytes) -> bytes:
        """The bytes, coordinates of the oldest reports in ASCII."""
        passed = bytearray()
        for byte in data:
            self._take(byte, passed)
        return bytes(passed)

    def closing(self) -> bytes:
        """What ends the open report, of which nothing more will come."""
        end = _FILLER * self._missing or b"M"
        self.forget()
        return end

    def forget(self) -> None:
        """What comes next belongs to nothing before."""
        self._begun, self._missing, self._may_go_on = b"", 0, False

    def _take(self, byte: int, passed: bytearray) -> None:
        goes_on, self._may_go_on = self._may_go_on and 0x80 <= byte < 0xC0, False
        if goes_on:
            return  # the second byte of a coordinate
        if self._missing and byte >= _FIRST_PRINTABLE:
            passed += _FILLER
            self._missing -= 1
            self._may_go_on = 0xC2 <= byte < 0xE0
            return
        passed += _FILLER * self._missing  # cut short by another sequence
        self._missing = 0
        passed.append(byte)
        begun = self._begun + bytes((byte,))
        if begun == _OLDEST:
            self._begun, self._missing = b"", _COORDINATES
        elif _PARTIAL.fullmatch(begun):
            self._begun = begun
        else:
            self._begun = bytes((byte,)) if byte == _ESCAPE else b""
