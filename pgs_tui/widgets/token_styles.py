"""Which role each stretch of a sample's text has: trained or not, of the template, cut off, hot, under the cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from pgs_tui.drawing.lines import Line, Role, Span, fit, merged, text_of
from pgs_tui.inspection.boxes import SPACE
from pgs_tui.inspection.layout import Row
from pgs_tui.inspection.reader import Reader
from pgs_tui.inspection.token_windows import Token
from pgs_tui.visible import TAB, Piece, is_harmless, isolated

HEAT: tuple[tuple[float, Role], ...] = ((9.0, "heat-4"), (6.0, "heat-3"), (3.0, "heat-2"), (1.0, "heat-1"))
"""From this loss on (in nats a token) a token is that hot."""
_TEMPLATE = frozenset({"template", "header"})
_SIGNS: dict[Role, tuple[Role, Role]] = {"lit": ("lit-sign", "lit-warn")}
"""Roles of signs within text of a role: of a newline or a tab, and of what one would not expect."""


class Styler:
    """The roles of one sample as its reader stands now."""

    def __init__(self, reader: Reader, cursor_shown: bool) -> None:
        self._reader = reader
        self._token = reader.token if cursor_shown else None
        self._cursor = reader.cursor if cursor_shown else -1
        self._kept_stop = reader.tokens.kept_stop if reader.tokens else None

    def text_line(self, row: Row) -> Line:
        """A line of text."""
        cuts = sorted({*self._edges(row.start, row.stop), row.stop})
        return merged([span for piece in row.pieces for span in self._spans(piece, cuts)])

    def box_lines(self, row: Row) -> tuple[Line, Line]:
        """A line of token boxes, and what stands below it."""
        upper: list[Span] = []
        lower: list[Span] = []
        for piece, note, number in zip(row.pieces, row.notes, row.numbers, strict=True):
            under_cursor = self._token is not None and number == self._token.number
            role = "cursor" if under_cursor else self._box_role(piece, number)
            upper.append((text_of(fit(((isolated(piece.text), role),), piece.cells)), role))
            upper.append(("│", "frame" if under_cursor else role))
            lower.append((f"{note[: piece.cells]:<{piece.cells + 1}}", "accent" if under_cursor else "dim"))
        return merged(upper), merged(lower)

    def has_lit(self, row: Row) -> bool:
        """Whether something in the row is trained."""
        return self._reader.is_lit(row.start) or any(row.start <= start < row.stop for start, _ in self._lit(row))

    def _lit(self, row: Row) -> Iterable[tuple[int, int]]:
        return _overlapping(self._reader.lit, row.start, row.stop)

    def _edges(self, start: int, stop: int) -> Iterator[int]:
        for first, last in _overlapping(self._reader.lit, start, stop):
            yield from (first, last)
        yield from (stretch.start for stretch in self._reader.stretches_between(start, stop))
        if self._kept_stop is not None:
            yield self._kept_stop
        if self._token is not None:
            yield from (self._token.start, self._token.stop)
        elif self._cursor >= 0:
            yield from (self._cursor, self._cursor + 1)
        if self._reader.losses:
            yield from (token.start for token in self._reader.tokens_between(start, stop))

    def _spans(self, piece: Piece, cuts: list[int]) -> Iterator[Span]:
        if not piece.is_plain:
            yield isolated(piece.text), self._sign_role(piece)
            return
        blank = self._is_remarkable(piece)
        start = piece.start
        for cut in [one for one in cuts if piece.start < one < piece.stop] + [piece.stop]:
            if blank:
                yield SPACE * (cut - start), self._sign_role(Piece(TAB, start, cut, cut - start, sign=True))
            else:
                yield piece.text[start - piece.start : cut - piece.start], self._role(start)
            start = cut

    def _is_remarkable(self, piece: Piece) -> bool:
        """Blanks that would not be noticed: at either end of a line, or several in a row."""
        if not piece.text.startswith(" "):
            return False
        text = self._reader.sample.text
        around = text[piece.start - 1 : piece.start] + text[piece.stop : piece.stop + 1]
        return piece.cells > 1 or "\n" in around or " " in around

    def _sign_role(self, piece: Piece) -> Role:
        role = self._role(piece.start)
        if not piece.sign or role == "cursor" or role.startswith("heat"):
            return role
        harmless, surprising = _SIGNS.get(role, ("template", "warn"))
        return harmless if is_harmless(piece.text) else surprising

    def _role(self, position: int) -> Role:
        if self._is_under_cursor(position):
            return "cursor"
        if self._reader.losses:
            found = self._reader.tokens_between(position, position + 1)
            return _heat(found[0]) if found else self._unlit(position)
        return "lit" if self._reader.is_lit(position) else self._unlit(position)

    def _is_under_cursor(self, position: int) -> bool:
        if self._token is not None:
            return self._token.start <= position < self._token.stop
        return position == self._cursor

    def _box_role(self, piece: Piece, number: int) -> Role:
        if self._reader.losses:
            found = [one for one in self._reader.tokens_between(piece.start, piece.stop) if one.number == number]
            return _heat(found[0]) if found else "dim"
        if not self._reader.is_lit(piece.start):
            return "warn" if piece.sign else self._unlit(piece.start)
        return "lit-warn" if piece.sign else "lit"

    def _unlit(self, position: int) -> Role:
        if self._kept_stop is not None and position >= self._kept_stop:
            return "cut"
        stretch = self._reader.stretch_at(position)
        return "template" if stretch is not None and stretch.why in _TEMPLATE else "dim"


def _heat(token: Token) -> Role:
    if token.loss is None:
        return "dim"
    return next((role for least, role in HEAT if not token.loss < least), "text")


def _overlapping(stretches: tuple[tuple[int, int], ...], start: int, stop: int) -> Iterator[tuple[int, int]]:
    place = max(bisect_right(stretches, (start, start)) - 1, 0)
    while place < len(stretches) and stretches[place][0] < stop:
        if stretches[place][1] > start:
            yield stretches[place]
        place += 1
