"""Curves as dots in terminal cells: braille (2 x 4 dots a cell), quarter blocks (2 x 2) or ASCII (1 x 2)."""

from __future__ import annotations

from dataclasses import dataclass

from pgs_tui.look import GlyphName


@dataclass(frozen=True, slots=True)
class Glyphs:
    """A set of characters. Bit `row * columns + column` of a cell's mask is the dot at that row and column."""

    name: GlyphName
    columns: int
    rows: int
    characters: str


def _braille() -> str:
    bits = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
    masks = range(256)
    codes = (sum(bits[dot // 2][dot % 2] for dot in range(8) if mask >> dot & 1) for mask in masks)
    return "".join(chr(0x2800 + code) if code else " " for code in codes)


GLYPHS: dict[GlyphName, Glyphs] = {
    "braille": Glyphs("braille", 2, 4, _braille()),
    "blocks": Glyphs("blocks", 2, 2, " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"),
    "ascii": Glyphs("ascii", 1, 2, " '.:"),
}

DotSpan = tuple[int, int] | None
"""Top and bottom dot row of one dot column, counted from the top; None for an empty column."""


class Raster:
    """A grid of cells that curves are drawn into, one dot column after the other."""

    def __init__(self, glyphs: Glyphs, width: int, height: int) -> None:
        self.glyphs = glyphs
        self.width = max(width, 0)
        self.height = max(height, 0)
        self.masks = [bytearray(self.width) for _ in range(self.height)]

    def draw(self, spans: list[DotSpan], breaks: frozenset[int] = frozenset()) -> None:
        """Draw one curve: each column from its top to its bottom, joined to the column before it.

        A gap without values is bridged by a straight line, unless one of `breaks` lies in it.
        """
        previous: int | None = None
        for column, span in enumerate(spans):
            if span is None:
                continue
            top, bottom = span
            before = spans[previous] if previous is not None else None
            if before is not None and previous is not None and not _broken(previous, column, breaks):
                if column - previous == 1:
                    top, bottom = min(top, before[1] + 1), max(bottom, before[0] - 1)
                else:
                    self._bridge(previous, before, column, span)
            self._fill(column, top, bottom)
            previous = column

    def rows(self) -> list[str]:
        """The grid as text, one string a row."""
        characters = self.glyphs.characters
        return ["".join([characters[mask] for mask in row]) for row in self.masks]

    def _bridge(self, left: int, before: tuple[int, int], right: int, after: tuple[int, int]) -> None:
        start, stop = sum(before) / 2, sum(after) / 2
        slope = (stop - start) / (right - left)
        for column in range(left + 1, right):
            here, there = start + slope * (column - left - 0.5), start + slope * (column - left + 0.5)
            self._fill(column, round(min(here, there)), round(max(here, there)))

    def _fill(self, column: int, top: int, bottom: int) -> None:
        glyphs = self.glyphs
        cell, place = divmod(column, glyphs.columns)
        top, bottom = max(top, 0), min(bottom, self.height * glyphs.rows - 1)
        if not 0 <= cell < self.width:
            return
        for row in range(top // glyphs.rows, bottom // glyphs.rows + 1):
            first = max(top - row * glyphs.rows, 0)
            last = min(bottom - row * glyphs.rows, glyphs.rows - 1)
            for dot in range(first, last + 1):
                self.masks[row][cell] |= 1 << (dot * glyphs.columns + place)


def _broken(left: int, right: int, breaks: frozenset[int]) -> bool:
    return bool(breaks) and any(left <= column <= right for column in breaks)
