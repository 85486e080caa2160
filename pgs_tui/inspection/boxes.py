"""Tokens as boxes: each one's text, and below it its id or its loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len, set_cell_size

from pgs_tui.inspection.layout import Row
from pgs_tui.inspection.token_windows import Token
from pgs_tui.visible import Piece, is_harmless, pieces

SPACE, ASCII_SPACE = "·", "."
BORDER = 1
"""Cells between two boxes."""


def box_rows(text: str, tokens: Iterable[Token], cells: int, ascii_only: bool, losses: bool) -> list[Row]:
    """The tokens as rows of at most `cells` cells, with ids below them, or with `losses` the loss of each."""
    rows = []
    for line in _lines([_box(text, token, cells, ascii_only, losses) for token in tokens], cells):
        boxes, notes, numbers = zip(*line, strict=True)
        stop = max(box.stop for box in boxes)
        rows.append(Row("boxes", boxes[0].start, stop, boxes, notes=notes, numbers=numbers))
    return rows


def token_text(text: str, token: Token, ascii_only: bool = False) -> tuple[str, bool]:
    """What a token looks like, every character of it visible, and whether it holds one that usually is not.

    The parts of a character are its bytes where each token is one, else they are numbered.
    """
    if token.parts > 1:
        character = text[token.start : token.stop]
        octets = character.encode("utf-8", "replace")
        found = list(pieces(character, 0, len(character), ascii_only))
        hidden = any(piece.sign and not is_harmless(piece.text) for piece in found)
        if len(octets) == token.parts:
            return f"<{octets[token.part - 1]:02X}>", hidden
        return f"{''.join(piece.text for piece in found)} {token.part}/{token.parts}", hidden
    found = list(pieces(text, token.start, token.stop, ascii_only))
    space = ASCII_SPACE if ascii_only else SPACE
    shown = "".join(piece.text if piece.sign else piece.text.replace(" ", space) for piece in found)
    hidden = any(piece.sign and not is_harmless(piece.text) for piece in found)
    return shown.rstrip() or ("''" if not found else space), hidden


def _box(text: str, token: Token, cells: int, ascii_only: bool, losses: bool) -> tuple[Piece, str, int]:
    shown, hidden = token_text(text, token, ascii_only)
    note = str(token.id) if not losses else "" if token.loss is None else f"{token.loss:.2f}"
    if cell_len(shown) > cells - BORDER:
        shown = set_cell_size(shown, max(cells - BORDER - 1, 0)) + "…"
    width = min(max(cell_len(shown), len(note)), max(cells - BORDER, 1))
    return Piece(shown, token.start, token.stop, width, sign=hidden), note, token.number


def _lines(boxes: Iterable[tuple[Piece, str, int]], cells: int) -> Iterator[list[tuple[Piece, str, int]]]:
    line: list[tuple[Piece, str, int]] = []
    used = 0
    for box in boxes:
        size = box[0].cells + BORDER
        if line and used + size > cells:
            yield line
            line, used = [], 0
        line.append(box)
        used += size
    if line:
        yield line
