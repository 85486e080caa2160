"""What a template left out of a turn's text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.data.conversation import CONTENT, REASONING, Turn
from engine.data.masking.stretches import is_content
from engine.data.masking.think import THINK_CLOSE, THINK_OPEN, think_stop
from engine.data.template.layout import DataPiece


def dropped_reasoning(turn: Turn, printed: Sequence[DataPiece]) -> int:
    """Characters of think blocks, or of reasoning under a key of its own, that are not printed."""
    dropped = 0
    for field, text in turn.texts.items():
        if field == REASONING or is_content(field):
            start, stop = _reasoning_in(field, text)
            dropped += sum(
                max(0, min(stop, hole_stop) - max(start, hole_start))
                for hole_start, hole_stop, _, _ in _holes(text, _of(field, printed))
            )
    return dropped


def lost_text(turn: Turn, printed: Sequence[DataPiece]) -> int:
    """Characters of texts of which nothing but reasoning is printed."""
    return sum(
        len(text) - think_stop(text)
        for field, text in turn.texts.items()
        if (field == CONTENT or (is_content(field) and field.endswith(".text")))
        and text[think_stop(text) :].strip()
        and not any(piece.index_stop > think_stop(text) for piece in _of(field, printed))
    )


def removed_characters(turn: Turn, printed: Sequence[DataPiece], rendered: str) -> int:
    """Characters of the content that are not printed, not counting what the template writes anew at its place."""
    removed = 0
    for field, text in turn.texts.items():
        if is_content(field) and (pieces := _of(field, printed)):
            for start, stop, before, after in _holes(text, pieces):
                if not _is_restated(_solid(text[start:stop]), rendered, before, after):
                    removed += stop - start
    return removed


def _of(field: str, pieces: Sequence[DataPiece]) -> list[DataPiece]:
    return sorted((piece for piece in pieces if piece.origin.field == field), key=lambda piece: piece.index)


Hole = tuple[int, int, DataPiece | None, DataPiece | None]


def _holes(text: str, pieces: Sequence[DataPiece]) -> Iterator[Hole]:
    """The stretches of a text that no piece covers, with the pieces at their sides; `pieces` by their place in it."""
    position = 0
    before: DataPiece | None = None
    for piece in pieces:
        if piece.index > position:
            yield position, piece.index, before, piece
        if piece.index_stop >= position:
            position, before = piece.index_stop, piece
    if position < len(text):
        yield position, len(text), before, None


def _is_restated(missing: str, rendered: str, before: DataPiece | None, after: DataPiece | None) -> bool:
    if not missing:
        return False
    reach = 4 * len(missing) + 40  # white space between may differ
    if before is not None and after is not None:
        return _solid(rendered[before.stop : after.start]) == missing
    if after is not None:
        return _solid(rendered[max(0, after.start - reach) : after.start]).endswith(missing)
    return before is not None and _solid(rendered[before.stop : before.stop + reach]).startswith(missing)


def _reasoning_in(field: str, text: str) -> tuple[int, int]:
    """Where the reasoning stands in a text, without its tags and the white space inside them."""
    start, stop = 0, len(text)
    if field != REASONING:
        opening, closing = text.find(THINK_OPEN), text.find(THINK_CLOSE)
        if not 0 <= opening < closing:
            return 0, 0
        start, stop = opening + len(THINK_OPEN), closing
    block = text[start:stop]
    start += len(block) - len(block.lstrip())
    return start, start + len(block.strip())


def _solid(text: str) -> str:
    return "".join(text.split())
