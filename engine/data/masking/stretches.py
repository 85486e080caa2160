"""The data's own text in a rendered chat, with what it is to the mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from engine.data.conversation import CONTENT, REASONING, TOOL_CALLS, Turn
from engine.data.masking.think import think_stop
from engine.data.template.ends import TurnEnds
from engine.data.template.layout import DataPiece
from engine.data.template.special_tokens import SpecialTokens


class Kind(Enum):
    """What a text is in its turn."""

    CONTENT = auto()
    REASONING = auto()
    CALL = auto()
    OTHER_ROLE = auto()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters `start` up to `stop` of the rendered text; they stand at `index` of the string `field` of a turn.

    `turn` counts from 0; None for a tool that the row offers.
    """

    start: int
    stop: int
    turn: int | None
    field: str
    index: int
    kind: Kind

    @property
    def index_stop(self) -> int:
        return self.index + self.stop - self.start

    @property
    def is_answer(self) -> bool:
        return self.kind is not Kind.OTHER_ROLE


def stretches_of(
    pieces: Sequence[DataPiece], text: str, turns: Sequence[Turn], ends: TurnEnds, tokens: SpecialTokens
) -> list[Stretch]:
    """The pieces in rendered order, cut where reasoning ends, and without echoes of an answer behind its end.

    Pieces of one turn that is no answer, as the many strings of the tools are, count as one with all between them.
    """
    kept: list[Stretch] = []
    printed: set[tuple[int | None, str, int, int]] = set()
    for stretch in _cut_at_reasoning(pieces, turns):
        if not stretch.is_answer:
            if kept and not kept[-1].is_answer and kept[-1].turn == stretch.turn:
                stretch = replace(kept.pop(), stop=stretch.stop)
        else:
            place = (stretch.turn, stretch.field, stretch.index, stretch.index_stop)
            if place in printed and _has_ended(kept[-1], stretch, text, ends, tokens):
                continue
            printed.add(place)
        kept.append(stretch)
    return kept


def _has_ended(before: Stretch, stretch: Stretch, text: str, ends: TurnEnds, tokens: SpecialTokens) -> bool:
    """Whether the answer was over before this text of it was printed again, as names of tools are beside results."""
    if before.turn != stretch.turn:
        return True
    if ends.all:
        return ends.find(text, before.stop, stretch.start) is not None
    return tokens.special.search(text, before.stop, stretch.start) is not None


def _cut_at_reasoning(pieces: Sequence[DataPiece], turns: Sequence[Turn]) -> Iterator[Stretch]:
    reasoning_stops: dict[tuple[int, str], int] = {}
    for piece in pieces:
        number, field = piece.turn, piece.origin.field
        kind = Kind.OTHER_ROLE if number is None or not turns[number].is_answer else kind_of(field)
        stop = piece.index
        if kind is Kind.CONTENT and number is not None:
            source = (number, field)
            if source not in reasoning_stops:
                reasoning_stops[source] = think_stop(turns[number].texts[field])
            stop = min(max(reasoning_stops[source], piece.index), piece.index_stop)
        border = piece.start + stop - piece.index
        if piece.start < border:
            yield Stretch(piece.start, border, number, field, piece.index, Kind.REASONING)
        if border < piece.stop:
            yield Stretch(border, piece.stop, number, field, stop, kind)


def kind_of(field: str) -> Kind:
    """What the text at this path is in an answer."""
    if field == REASONING:
        return Kind.REASONING
    return Kind.CALL if field.startswith(f"{TOOL_CALLS}.") else Kind.CONTENT


def is_content(field: str) -> bool:
    """Whether a path leads into the content of a turn."""
    return field == CONTENT or field.startswith(f"{CONTENT}.")
