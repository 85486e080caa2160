"""A row cut into blocks for people: one a turn, with what is trained and what the template added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from engine.data.masking.reasons import Segment, Why
from engine.inspect.tokens import RowTokens, Stretch

_TEMPLATES_OWN = frozenset({Why.TEMPLATE, Why.HEADER, Why.TEMPLATE_IN_ANSWER})


class Piece(NamedTuple):
    """Text side by side, trained or not. `is_template`: the data does not have it; `is_cut`: behind the limit."""

    text: str
    is_trained: bool
    is_template: bool
    is_cut: bool

    @property
    def is_faint(self) -> bool:
        """Not trained, nor anything that the data wrote within the limit."""
        return not self.is_trained and (self.is_template or self.is_cut)


@dataclass(slots=True)
class Block:
    """The text of one turn, from 0 on; None for text that belongs to no turn."""

    turn: int | None
    pieces: list[Piece] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @property
    def is_trained(self) -> bool:
        return any(piece.is_trained for piece in self.pieces)

    @property
    def why_not(self) -> Why | None:
        """Why nothing of the turn is trained; None where that needs no word."""
        if self.is_trained:
            return None
        if any(segment.loss for segment in self.segments):
            return Why.CUT_OFF
        reasons = (segment.why for segment in self.segments)
        return next((why for why in reasons if why not in _TEMPLATES_OWN and why is not Why.OTHER_ROLE), None)


def blocks_of(tokens: RowTokens, added_system_prompt: str = "") -> list[Block]:
    """The row's blocks in order. What belongs to no turn stands with the turn before, if there is one."""
    blocks: list[Block] = []
    lit = tokens.lit()
    for segment in _with_white_space_apart(tokens):
        if not blocks or segment.turn not in (blocks[-1].turn, None):
            blocks.append(Block(segment.turn))
        block, text = blocks[-1], tokens.text[segment.start : segment.stop]
        block.pieces += _pieces(tokens, segment, lit)
        block.segments.append(segment)
        if segment.why is Why.TEMPLATE_IN_ANSWER:
            block.added.append(text)
        elif segment.why is Why.TEMPLATE and added_system_prompt.strip() and added_system_prompt in text:
            block.added.append(added_system_prompt)
    return blocks


def _with_white_space_apart(tokens: RowTokens) -> Iterator[Segment]:
    """The segments; white space at the beginning of the template's text is taken as the end of what stands before."""
    for segment in tokens.rendered.segments:
        text = tokens.text[segment.start : segment.stop]
        stop = segment.start + len(text) - len(text.lstrip())
        if segment.why is Why.TEMPLATE and segment.start < stop < segment.stop:
            yield segment._replace(stop=stop, turn=None)
            yield segment._replace(start=stop)
        else:
            yield segment


def _pieces(tokens: RowTokens, segment: Segment, lit: list[Stretch]) -> Iterator[Piece]:
    """The segment cut where training begins or ends, and at the limit of length."""
    limit = tokens.limit_in_text
    inside = [place for stretch in lit for place in stretch if segment.start < place < segment.stop]
    places = sorted({segment.start, *inside, *([limit] if segment.start < limit < segment.stop else []), segment.stop})
    for start, stop in pairwise(places):
        is_trained = any(first <= start < last for first, last in lit)
        yield Piece(tokens.text[start:stop], is_trained, segment.why in _TEMPLATES_OWN, start >= limit)
