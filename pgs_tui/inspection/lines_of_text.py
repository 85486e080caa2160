"""Pieces of text as lines: broken between words, never wider than the room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pgs_tui.inspection.layout import Row
from pgs_tui.visible import ASCII_NEWLINE, NEWLINE, Piece, pieces


def text_rows(text: str, start: int, stop: int, cells: int, ascii_only: bool) -> list[Row]:
    """The characters `start` up to `stop` of the text as rows of at most `cells` cells.

    The last cell is kept for the sign of the newline, so that it never begins a row of its own.
    """
    found = pieces(text, start, stop, ascii_only)
    return [Row("text", line[0].start, line[-1].stop, tuple(line)) for line in _lines(found, max(cells - 1, 1))]


def _lines(found: Iterable[Piece], room: int) -> Iterator[list[Piece]]:
    line: list[Piece] = []
    left = room
    for piece in found:
        if piece.sign and piece.text in (NEWLINE, ASCII_NEWLINE):
            if left < 0:  # a sign that is wider than the room
                yield line
                line = []
            yield [*line, piece]
            line, left = [], room
            continue
        whole = piece.cells <= room and not piece.text.startswith(" ")
        if piece.cells > left and line and (whole or not piece.is_plain):
            yield line
            line, left = [], room
        for part in _parts(piece, left, room):
            if part.cells > left and line:
                yield line
                line, left = [], room
            line.append(part)
            left -= part.cells
    if line:
        yield line


def _parts(piece: Piece, left: int, room: int) -> Iterator[Piece]:
    """The piece, or, where it is longer than what is left and can be cut, what fits and then line by line the rest."""
    start = piece.start
    while piece.is_plain and piece.stop - start > left > 0:
        yield piece.cut(start, start + left)
        start += left
        left = room
    yield piece.cut(start, piece.stop) if start > piece.start else piece
