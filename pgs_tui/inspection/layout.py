"""A text of any length as rows of a terminal, worked out only where it is looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from pgs_tui.inspection.blocks import Block, Title
from pgs_tui.visible import Piece

CHUNK, BOX_CHUNK = 2048, 512
"""Characters that are made into rows at once; fewer for token boxes, as a character may be several tokens."""
LOOK_BACK = 256
"""A chunk ends behind a blank within its last characters, if there is one."""
KEPT_CHUNKS = 64


class Row(NamedTuple):
    """One row: a title, a line of text, a line of token boxes, or one that waits for its tokens.

    `start` and `stop` are the characters it stands for.
    """

    kind: Literal["title", "text", "boxes", "waiting"]
    start: int
    stop: int
    pieces: tuple[Piece, ...] = ()
    title: Title | None = None
    notes: tuple[str, ...] = ()
    """Below each piece of a line of token boxes: what stands under it."""
    numbers: tuple[int, ...] = ()
    """The tokens of a line of token boxes."""


class Place(NamedTuple):
    """A row, by its chunk and its number there. Places compare in the order of the text."""

    chunk: int
    row: int


class _Chunk(NamedTuple):
    start: int
    stop: int
    title: Title | None


RowMaker = Callable[[int, int], "Sequence[Row] | None"]
"""Makes the characters from one place up to another into rows; None when it cannot do so yet."""


class Layout:
    """The blocks of a text as rows. Every walk costs what it shows, wherever in the text it is."""

    def __init__(self, text: str, blocks: Sequence[Block], rows_of: RowMaker, chunk: int = CHUNK) -> None:
        self._chunks = [part for block in blocks for part in _cut(text, block, chunk)] or [_Chunk(0, 0, None)]
        self._starts = [chunk.start for chunk in self._chunks]
        self._rows_of = rows_of
        self.stop = self._chunks[-1].stop
        """Where in the text the last block ends."""
        self._made: dict[int, tuple[Row, ...]] = {}

    @property
    def first(self) -> Place:
        """The first row of all."""
        return Place(0, 0)

    @property
    def last(self) -> Place:
        """The last row of all."""
        chunk = len(self._chunks) - 1
        return Place(chunk, len(self.rows(chunk)) - 1)

    def row(self, place: Place) -> Row:
        """The row at a place."""
        rows = self.rows(place.chunk)
        return rows[min(place.row, len(rows) - 1)]

    def rows(self, number: int) -> tuple[Row, ...]:
        """The rows of one chunk, at least one."""
        made = self._made.get(number)
        if made is None:
            chunk = self._chunks[number]
            text_rows = self._rows_of(chunk.start, chunk.stop)
            title = (Row("title", chunk.start, chunk.start, title=chunk.title),) if chunk.title else ()
            waiting = (Row("waiting", chunk.start, chunk.stop),)
            made = (*title, *(waiting if text_rows is None else text_rows))
            made = made or (Row("text", chunk.start, chunk.stop),)
            if text_rows is not None:
                self._keep(number, made)
        return made

    def _keep(self, number: int, made: tuple[Row, ...]) -> None:
        if len(self._made) >= KEPT_CHUNKS:
            del self._made[next(iter(self._made))]
        self._made[number] = made

    def walk(self, place: Place, rows: int) -> Place:
        """The place so many rows further down, or up when negative; at most the first or the last one."""
        chunk, row = place.chunk, place.row + rows
        while row < 0:
            if chunk == 0:
                return self.first
            chunk -= 1
            row += len(self.rows(chunk))
        while row >= len(self.rows(chunk)):
            if chunk == len(self._chunks) - 1:
                return self.last
            row -= len(self.rows(chunk))
            chunk += 1
        return Place(chunk, row)

    def locate(self, position: int) -> Place:
        """The row that shows the character, or the next one that is shown."""
        chunk = max(bisect_right(self._starts, position) - 1, 0)
        while self._chunks[chunk].stop <= position and chunk < len(self._chunks) - 1:
            chunk += 1
        rows = self.rows(chunk)
        for number, row in enumerate(rows):
            if row.kind != "title" and position < row.stop:
                return Place(chunk, number)
        return Place(chunk, len(rows) - 1)

    def shown(self, position: int, back: bool = False) -> int:
        """The character itself if the blocks show it, else the next one that they show, or with `back` the one before.

        Where there is none on that side it is the last one, or the first.
        """
        chunk = max(bisect_right(self._starts, position) - 1, 0)
        if back:
            while chunk > 0 and self._is_empty(chunk):
                chunk -= 1
        else:
            while chunk < len(self._chunks) - 1 and (self._chunks[chunk].stop <= position or self._is_empty(chunk)):
                chunk += 1
        found = self._chunks[chunk]
        return min(max(position, found.start), max(found.stop - 1, found.start))

    def shows(self, position: int) -> bool:
        """Whether a block shows the character."""
        chunk = max(bisect_right(self._starts, position) - 1, 0)
        return self._chunks[chunk].start <= position < self._chunks[chunk].stop

    def distance(self, upper: Place, lower: Place, most: int) -> int:
        """Rows from one place down to another, counted up to `most`; 0 where the other one is not below."""
        rows, chunk = -upper.row, upper.chunk
        while chunk < lower.chunk and rows < most:
            rows += len(self.rows(chunk))
            chunk += 1
        return min(max(rows + lower.row, 0), most) if chunk == lower.chunk else most if upper < lower else 0

    def _is_empty(self, chunk: int) -> bool:
        return self._chunks[chunk].start == self._chunks[chunk].stop


def _cut(text: str, block: Block, size: int) -> list[_Chunk]:
    """The block in chunks, cut behind a newline or a blank where there is one."""
    chunks = []
    start, title = block.start, block.title
    while block.stop - start > size:
        stop = start + size
        newline = text.rfind("\n", start, stop)
        blank = text.rfind(" ", stop - LOOK_BACK, stop)
        stop = newline + 1 if newline >= start else blank + 1 if blank > 0 else stop
        chunks.append(_Chunk(start, stop, title))
        start, title = stop, None
    return [*chunks, _Chunk(start, block.stop, title)]
