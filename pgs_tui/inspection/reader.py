"""Reading one sample: what is on the screen of it, where the cursor stands, and which tokens are needed for that."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from pgs_tui.inspection.blocks import View, blocks_of
from pgs_tui.inspection.boxes import box_rows
from pgs_tui.inspection.layout import BOX_CHUNK, CHUNK, Layout, Row
from pgs_tui.inspection.lines_of_text import text_rows
from pgs_tui.inspection.shapes import Sample, Stretch, Tokens
from pgs_tui.inspection.token_windows import Token, TokenWindows
from pgs_tui.inspection.viewport import Viewport

CONTEXT = 256
"""Characters before the cursor whose tokens are fetched too, for the way back."""
WINDOW = 4096
"""Tokens that are fetched at once."""


class Reader:
    """Tell it the room with `fit`, then walk. `rows` are what is to be drawn, `wanted` what has to be fetched first.

    `losses` says that the tokens come with losses, which are then shown in place of their ids.
    """

    def __init__(self, sample: Sample, losses: bool = False) -> None:
        self.sample = sample
        self.losses = losses
        self.view: View = "turns"
        self.boxes = False
        self.tokens: Tokens | None = None
        """The newest window, which also speaks of the row as a whole."""
        self._drafted = _joined([(one.start, one.stop) for one in sample.stretches if one.loss])
        self.lit = self._drafted
        self.cursor = 0
        """A place in the text."""
        self._stretch_starts = [one.start for one in sample.stretches]
        self._windows = TokenWindows(len(sample.text))
        self._number: int | None = None
        self._column: int | None = None
        self._rank = 0
        self._steps_owed = 0
        """Steps that were asked for before the tokens were there."""
        self._cells, self._ascii = 80, False
        self._port = Viewport(self._laid_out(), 24)
        self.cursor = self._layout.shown(0)

    def fit(self, cells: int, height: int, ascii_only: bool) -> None:
        """The text has this many cells and lines; the cursor stays in sight."""
        offset, self._port.height = self._port.offset(self.cursor), height
        if (cells, ascii_only) != (self._cells, self._ascii):
            self._cells, self._ascii = cells, ascii_only
            self._lay_out_again(offset)
        self._reveal()

    def add(self, window: Tokens) -> None:
        """Take in tokens."""
        first, self.tokens = self.tokens is None, window
        self._windows.add(window)
        if first and tuple(window.lit) != self.lit:
            self.lit = window.lit
            if self.view == "trained":
                self._lay_out_again(self._port.offset(self.cursor))
        if self.losses and first:
            self.worst(0)
        if self._steps_owed and self.token is not None:
            self.step(self._steps_owed)
        self._reveal()

    def show(self, view: View) -> None:
        """Show the sample this way; the cursor stays where it is, in the text and on the screen."""
        offset, self.view = self._port.offset(self.cursor), view
        self._lay_out_again(offset)

    def toggle_boxes(self) -> None:
        """Show the tokens in boxes, or as text again."""
        offset, self.boxes = self._port.offset(self.cursor), not self.boxes
        self._lay_out_again(offset)

    def rows(self) -> Iterator[Row]:
        """The rows that are in sight, from the top; the last one may be cut off."""
        return self._port.rows()

    @property
    def share(self) -> float | None:
        """How far down the view is, None where all of it is in sight."""
        return self._port.share

    @property
    def token(self) -> Token | None:
        """The token under the cursor, None until it was fetched."""
        known = self._windows.token(self._number) if self._number is not None else None
        if known is not None and known.start <= self.cursor < max(known.stop, known.start + 1):
            return known
        return self._windows.token_at(self.cursor)

    def tokens_between(self, start: int, stop: int) -> list[Token]:
        """The tokens of a stretch of the text, none until they were fetched."""
        return self._windows.between(start, stop) or []

    def stretch_at(self, position: int) -> Stretch | None:
        """Whose the character is and why it is trained or not."""
        return next(iter(self.stretches_between(position, position + 1)), None)

    def stretches_between(self, start: int, stop: int) -> Iterator[Stretch]:
        """The same for all characters from `start` up to `stop`."""
        place = max(bisect_right(self._stretch_starts, start) - 1, 0)
        for stretch in islice(self.sample.stretches, place, None):
            if stretch.start >= stop:
                return
            if start < stretch.stop:
                yield stretch

    def wanted(self) -> int | None:
        """From which place in the text tokens have to be fetched, None while nothing is missing."""
        if not self.sample.text:
            return None
        for row in self.rows():
            if row.kind == "waiting":
                return row.start
        return None if self.token is not None else max(self.cursor - CONTEXT, 0)

    def step(self, tokens: int) -> None:
        """Go so many tokens on, or back when negative; those that this view leaves out are jumped over."""
        self._column = None
        token = self.token
        if token is None:
            self._steps_owed += tokens
            return
        self._steps_owed = 0
        following = self._windows.token(token.number + tokens)
        if following is None:
            position = token.stop if tokens > 0 else token.start - 1
            if 0 <= position < len(self.sample.text):
                self._go_to(self._layout.shown(position, back=tokens < 0))
            return
        position = self._layout.shown(following.start, back=tokens < 0)
        if following.start <= position < max(following.stop, following.start + 1):
            self._number, self.cursor = following.number, position
            self._reveal()
        else:
            inside = self._layout.shown(max(following.stop - 1, 0), back=tokens < 0)
            self._go_to(inside)

    def step_rows(self, rows: int) -> None:
        """Go so many lines down, or up when negative, in the same column."""
        place = self._layout.locate(self.cursor)
        column = self._column if self._column is not None else self._column_of(self._layout.row(place))
        target = self._layout.walk(place, rows)
        while self._layout.row(target).kind == "title":
            beyond = self._layout.walk(target, 1 if rows > 0 else -1)
            if beyond == target:
                self._port.top = min(self._port.top, target)  # nothing but the title is above
                return
            target = beyond
        if abs(rows) > 1:
            self._port.scroll(rows)
        self._number, self.cursor = self._at_column(self._layout.row(target), column)
        self._column = column
        self._reveal()

    def page(self, pages: float) -> None:
        """Go a part of what is in sight down, or up when negative."""
        lines = 2 if self.boxes else 1
        self.step_rows(int(pages * max(self._port.height // lines - 1, 1)) or (1 if pages > 0 else -1))

    def to_start(self) -> None:
        """Go to the first character that is shown."""
        self._go_to(self._layout.shown(0))
        self._port.top = self._layout.first

    def to_end(self) -> None:
        """Go to the last one."""
        self._go_to(self._layout.shown(len(self.sample.text)))

    def to_trained(self, direction: int) -> bool:
        """Go to the next trained stretch, or the one before when negative; False when there is none.

        Where the limit of length leaves nothing to train, it goes to what would be trained without it.
        """
        starts = [start for start, _ in self.lit or self._drafted]
        place = bisect_right(starts, self.cursor) if direction > 0 else bisect_left(starts, self.cursor) - 1
        if not 0 <= place < len(starts):
            return False
        self._number, self._column, self.cursor = None, None, self._layout.shown(starts[place])
        self._port.reveal_with_rest(self.cursor)
        return True

    def worst(self, direction: int) -> bool:
        """Go to the token with the highest loss (0), or to the next one in the order of loss; False without any."""
        if self.tokens is None:
            return False
        losses = self.tokens.losses
        order = sorted((n for n, loss in enumerate(losses) if loss is not None), key=lambda n: _badness(losses[n]))
        if not order:
            return False
        self._rank = (self._rank + direction) % len(order) if direction else 0
        token = self._windows.token(order[self._rank])
        if token is not None:
            self._number, self.cursor = token.number, self._layout.shown(token.start)
            self._reveal()
        return True

    def loss_rank(self) -> tuple[int, int] | None:
        """Which of the trained tokens, the worst being 1, the one under the cursor is."""
        token = self.token
        if token is None or token.loss is None or self.tokens is None:
            return None
        known = [loss for loss in self.tokens.losses if loss is not None]
        return 1 + sum(_badness(loss) < _badness(token.loss) for loss in known), len(known)

    @property
    def is_empty(self) -> bool:
        """There is text, but this view has none of it to show."""
        return self.view == "trained" and not self.lit

    def is_lit(self, position: int) -> bool:
        """Whether the character is trained."""
        place = bisect_right(self.lit, (position, len(self.sample.text) + 1)) - 1
        return place >= 0 and position < self.lit[place][1]

    def _laid_out(self) -> Layout:
        def lines(start: int, stop: int) -> Sequence[Row] | None:
            if not self.boxes:
                return text_rows(self.sample.text, start, stop, self._cells, self._ascii)
            tokens = self._windows.between(start, stop)
            if tokens is None:
                return None
            own = [token for token in tokens if token.start >= start or not self._layout.shows(token.start)]
            return box_rows(self.sample.text, own, self._cells, self._ascii, self.losses)

        blocks = blocks_of(self.sample, self.view, self.lit)
        return Layout(self.sample.text, blocks, lines, BOX_CHUNK if self.boxes else CHUNK)

    @property
    def _layout(self) -> Layout:
        return self._port.layout

    def _lay_out_again(self, offset: int) -> None:
        """The cursor is that many rows below the top afterwards."""
        self._port = Viewport(self._laid_out(), self._port.height)
        shown = self._layout.shown(self.cursor)
        if shown != self.cursor and not self.is_empty:
            self._number, self.cursor = None, shown
        self._port.put(self.cursor, offset)

    def _reveal(self) -> None:
        self._port.reveal(self.cursor)

    def _go_to(self, position: int) -> None:
        self._number, self._column, self.cursor, self._steps_owed = None, None, position, 0
        self._reveal()

    def _column_of(self, row: Row) -> int:
        column = 0
        for place, piece in enumerate(row.pieces):
            if row.kind == "boxes" and self._number is not None and row.numbers[place] == self._number:
                return column
            if piece.start <= self.cursor < piece.stop and (row.kind != "boxes" or self._number is None):
                return column + (self.cursor - piece.start if piece.is_plain else 0)
            column += piece.cells + (1 if row.kind == "boxes" else 0)
        return column

    def _at_column(self, row: Row, column: int) -> tuple[int | None, int]:
        """Token, if it is known by the row, and character at the column, or at the end of a shorter row."""
        gap = 1 if row.kind == "boxes" else 0
        for place, piece in enumerate(row.pieces):
            if column < piece.cells + gap or place == len(row.pieces) - 1:
                inside = min(max(column, 0), piece.cells - 1) if piece.is_plain and not gap else 0
                return (row.numbers[place] if row.numbers else None), piece.start + inside
            column -= piece.cells + gap
        return None, self._layout.shown(row.start)


def _joined(stretches: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, stop in stretches:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return tuple(joined)


def _badness(loss: float | None) -> float:
    """For sorting, the worst first; what is not a number is the worst of all."""
    if loss is None:
        return float("inf")
    return -loss if loss == loss else float("-inf")
