"""Text from data as pieces for a terminal: what cannot be seen gets a sign, and every piece knows its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

NEWLINE, ASCII_NEWLINE = "⏎", "$"
TAB, ASCII_TAB = "→   ", ">   "
MOST_MARKS = 2
"""Combining marks that a character may carry; more of them would grow over the neighbouring lines.

Spacing marks (vowel signs of Devanagari and its relatives) count among them, as Textual has it. Some terminals give
them a cell of their own, but a sign in their place would make these scripts unreadable.
"""
_ISOLATE, _RELEASE = "\u2068", "\u2069"

_WORD_ASCII = r"[!-~]+"
_LETTERS = r"\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u0391-\u03a1\u03a3-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e"
_WORD = rf"[!-~{_LETTERS}]+"
_PARTS = re.compile(rf" +|{_WORD}|.", re.DOTALL)
_PARTS_ASCII = re.compile(rf" +|{_WORD_ASCII}|.", re.DOTALL)
_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_RTL_RUN = re.compile(f"[{_RTL}](?:[{_RTL}\u0300-\u036f ]*[{_RTL}\u0300-\u036f])?")
_CONTROLS = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
)
_NOT_DRAWN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_MARKS = frozenset({"Mn", "Mc", "Me"})
_BLANK = frozenset((0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0))
_JOINING = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x1F1E6, 0x1F200), range(0x1F3FB, 0x1F400))
"""Variation selectors, flag letters and skin tones change their neighbours, and terminals disagree how wide that is."""


class Piece(NamedTuple):
    """What is drawn for the characters `start` up to `stop` of the text, in how many cells.

    `sign` says that it stands for something else than itself. A piece that is not a sign and has as many cells as
    characters can be cut anywhere.
    """

    text: str
    start: int
    stop: int
    cells: int
    sign: bool = False

    @property
    def is_plain(self) -> bool:
        """One cell a character, so that it can be cut anywhere."""
        return not self.sign and self.cells == self.stop - self.start == len(self.text)

    def cut(self, start: int, stop: int) -> Piece:
        """The characters `start` up to `stop` of the text out of a plain piece."""
        return Piece(self.text[start - self.start : stop - self.start], start, stop, stop - start)


def pieces(text: str, start: int, stop: int, ascii_only: bool = False) -> Iterator[Piece]:
    """The characters `start` up to `stop` of the text as words, runs of spaces, signs, and single other characters."""
    place = start
    for match in (_PARTS_ASCII if ascii_only else _PARTS).finditer(text, start, stop):
        first, last = match.span()
        if first < place:  # a mark that the piece before has taken
            continue
        found = match.group()
        place = last
        if found[0] == " " or last - first > 1 or "!" <= found <= "~":
            place = last if ascii_only else _with_marks(text, last, stop)
            whole = last if place == last else last - 1  # the last character carries marks
            if whole > first:
                yield Piece(found[: whole - first], first, whole, whole - first)
            if whole < last:
                yield Piece(text[whole:place], whole, place, 1)
            continue
        sign = sign_of(found, ascii_only)
        if sign is not None:
            yield Piece(sign, first, last, cell_len(sign), sign=True)
            continue
        place = _with_marks(text, last, stop)
        yield Piece(text[first:place], first, place, cell_len(found))


@lru_cache(maxsize=4096)
def sign_of(character: str, ascii_only: bool = False) -> str | None:
    """What is shown in place of a character that cannot be seen or would disturb its neighbours; None: itself."""
    code = ord(character)
    if character in "\n\t":
        return _white_space(character, ascii_only)
    if code < 32 or code == 127:
        return _named("DEL" if code == 127 else _CONTROLS[code], ascii_only)
    if code < 127:
        return None
    if ascii_only:
        return _named(f"U+{code:04X}", ascii_only)
    if _is_drawn(character):
        return None
    if unicodedata.category(character) in _MARKS and _is_plain_mark(character):
        return f"◌{character}"
    return _named(f"U+{code:04X}", ascii_only)


def is_harmless(sign: str) -> bool:
    """True for the signs of a newline and a tab, which are no surprise in a text."""
    return sign in (NEWLINE, ASCII_NEWLINE, TAB, ASCII_TAB)


def isolated(text: str) -> str:
    """The text with its right-to-left stretches kept from moving what stands beside them, in terminals that reorder."""
    return text if text.isascii() else _RTL_RUN.sub(rf"{_ISOLATE}\g<0>{_RELEASE}", text)


def shown(text: str, ascii_only: bool = False) -> str:
    """The whole text with its signs, as one harmless line."""
    return isolated("".join(piece.text for piece in pieces(text, 0, len(text), ascii_only)))


def _named(name: str, ascii_only: bool) -> str:
    return f"<{name}>" if ascii_only else f"‹{name}›"


def _white_space(character: str, ascii_only: bool) -> str:
    if character == "\n":
        return ASCII_NEWLINE if ascii_only else NEWLINE
    return ASCII_TAB if ascii_only else TAB


def _is_drawn(character: str) -> bool:
    code = ord(character)
    if code in _BLANK or any(code in joining for joining in _JOINING):
        return False
    return unicodedata.category(character) not in _NOT_DRAWN and cell_len(character) > 0


def _is_plain_mark(character: str) -> bool:
    code = ord(character)
    return code not in _BLANK and not any(code in joining for joining in _JOINING) and cell_len(character) == 0


def _with_marks(text: str, place: int, stop: int) -> int:
    """Where the combining marks behind a character end, as far as they are shown with it."""
    end = min(place + MOST_MARKS, stop)
    while place < end and unicodedata.category(text[place]) in _MARKS and _is_plain_mark(text[place]):
        place += 1
    return place
