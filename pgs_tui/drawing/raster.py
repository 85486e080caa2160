"""Curves as dots in terminal cells: braille (2 x 4 dots a cell), quarter blocks (2 x 2) or ASCII (1 x 2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pgs_tui.appearance.look import GlyphName


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


@lru_cache(maxsize=len(GLYPHS))
def _pieces(name: GlyphName) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The mask of the dots from row `top` to row `bottom` of one dot column of a cell: `[column][top][bottom]`."""
    glyphs = GLYPHS[name]
    rows = range(glyphs.rows)
    return tuple(
        tuple(
            tuple(sum(1 << (dot * glyphs.columns + place) for dot in range(top, bottom + 1)) for bottom in rows)
            for top in rows
        )
        for place in range(glyphs.columns)
    )


class Raster:
    """A grid of cells that one curve is drawn into, one dot column after the other."""

    def __init__(self, glyphs: Glyphs, width: int, height: int) -> None:
        self.glyphs = glyphs
        self.width = max(width, 0)
        self.height = max(height, 0)
        self.masks = [bytearray(self.width) for _ in range(self.height)]
        self._bits = _pieces(glyphs.name)

    def draw(self, spans: Sequence[DotSpan], breaks: Collection[int] = (), first: int = 0) -> int:
        """Draw the curve from dot column `first` on: each column from its top to its bottom, joined to the one before.

        A gap without values is bridged by a straight line, unless one of `breaks` lies in it. What was drawn left of
        `first` must come from the same spans and breaks; columns behind the last value before it are drawn again.
        Returns the first dot column that was.
        """
        previous = next((column for column in range(first - 1, -1, -1) if spans[column] is not None), None)
        first = 0 if previous is None else previous + 1
        self._clear_from(first)
        ordered = sorted(breaks)
        before = spans[previous] if previous is not None else None
        for column in range(first, len(spans)):
            span = spans[column]
            if span is None:
                continue
            top, bottom = span
            if before is not None and previous is not None and not (ordered and _broken(previous, column, ordered)):
                if column - previous == 1:
                    top, bottom = min(top, before[1] + 1), max(bottom, before[0] - 1)
                else:
                    self._bridge(previous, before, column, span)
            self._fill(column, top, bottom)
            previous, before = column, span
        return first

    def rows(self) -> list[str]:
        """The grid as text, one string a row."""
        characters = self.glyphs.characters
        return ["".join([characters[mask] for mask in row]) for row in self.masks]

    def _clear_from(self, column: int) -> None:
        cell, place = divmod(column, self.glyphs.columns)
        if cell >= self.width:
            return
        last = self.glyphs.rows - 1
        kept = sum(self._bits[left][0][last] for left in range(place))
        blank = bytes(self.width - cell - 1)
        for row in self.masks:
            row[cell] &= kept
            row[cell + 1 :] = blank

    def _bridge(self, left: int, before: tuple[int, int], right: int, after: tuple[int, int]) -> None:
        start, stop = sum(before) / 2, sum(after) / 2
        slope = (stop - start) / (right - left)
        for column in range(left + 1, right):
            here, there = start + slope * (column - left - 0.5), start + slope * (column - left + 0.5)
            self._fill(column, round(min(here, there)), round(max(here, there)))

    def _fill(self, column: int, top: int, bottom: int) -> None:
        rows = self.glyphs.rows
        cell, place = divmod(column, self.glyphs.columns)
        top, bottom = max(top, 0), min(bottom, self.height * rows - 1)
        if top > bottom or not 0 <= cell < self.width:
            return
        masks, bits = self.masks, self._bits[place]
        first, last = top // rows, bottom // rows
        if first == last:
            masks[first][cell] |= bits[top % rows][bottom % rows]
            return
        masks[first][cell] |= bits[top % rows][rows - 1]
        for row in range(first + 1, last):
            masks[row][cell] |= bits[0][rows - 1]
        masks[last][cell] |= bits[0][bottom % rows]


def _broken(left: int, right: int, breaks: list[int]) -> bool:
    place = bisect_left(breaks, left)
    return place < len(breaks) and breaks[place] <= right
