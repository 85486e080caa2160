"""Which characters of a rendered chat have loss, worked out from where each of them comes from.

The rules, for an answer that is trained:
- Text of the data has loss, and so does what closes the turn: the first special token after it (white space on the
  way there included), or, for a template without one, the token that opens the next turn.
- The header is what the generation prompt prints; no loss.
- Other template text inside the answer has loss where the data brought it there: it stands in the data at that very
  place (white space aside), or it wraps reasoning that the data keeps under a key of its own. Otherwise it is the
  template's own addition and has loss only with `train_on_template_text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from engine.data.conversation import CONTENT, Turn
from engine.data.rendering.reasons import Segment, Why
from engine.data.template.facts import SpecialTokens, TemplateFacts
from engine.data.template.layout import DataPiece, data_pieces, template_gaps
from engine.data.template.traced import TracedStr


@dataclass(frozen=True, slots=True)
class MaskOptions:
    """What the config says about the mask (`data.train_on_template_text` and its neighbours)."""

    train_on_template_text: bool = False
    train_on_reasoning: bool = True
    last_turn_only: bool = False


@dataclass(frozen=True, slots=True)
class MaskRules:
    """Everything that the mask depends on besides the text."""

    facts: TemplateFacts
    tokens: SpecialTokens
    options: MaskOptions


def mask_segments(text: TracedStr, turns: tuple[Turn, ...], rules: MaskRules) -> list[Segment]:
    """Cover `text` with segments, in order and without a hole."""
    return _Masker(text, turns, rules).segments()


class _Masker:
    """Walks over the pieces of one rendered chat, from gap to piece to gap."""

    def __init__(self, text: TracedStr, turns: tuple[Turn, ...], rules: MaskRules) -> None:
        self.text = str.__getitem__(text, slice(None))
        self.turns = turns
        self.rules = rules
        self.pieces = data_pieces(text)
        self.found: list[Segment] = []

    def segments(self) -> list[Segment]:
        gaps = template_gaps(self.pieces, len(self.text))
        for number, (start, stop) in enumerate(gaps):
            before = self.pieces[number - 1] if number else None
            after = self.pieces[number] if number < len(self.pieces) else None
            if before is not None and after is not None and before.turn == after.turn:
                self._inside(before, after)
            else:
                self._between(before, after, start, stop, number)
            if after is not None:
                self._piece(after)
        return [segment for segment in self.found if segment.start < segment.stop]

    def _add(self, start: int, stop: int, turn: int | None, why: Why) -> None:
        """Append a segment of a turn that may have loss, or say why it has none."""
        trains = why in (Why.ANSWER, Why.WRAPPING, Why.TURN_END)
        trains |= why is Why.TEMPLATE_IN_ANSWER and self.rules.options.train_on_template_text
        if trains and turn is not None and not self.turns[turn].trained:
            self.found.append(Segment(start, stop, turn, Why.WEIGHT_ZERO, False))
        elif trains and turn is not None and self.turns[turn].is_empty:
            self.found.append(Segment(start, stop, turn, Why.EMPTY_ANSWER, False))
        else:
            self.found.append(Segment(start, stop, turn, why, trains))

    def _is_answer(self, piece: DataPiece | None) -> bool:
        return piece is not None and self.turns[piece.turn].is_answer

    def _piece(self, piece: DataPiece) -> None:
        self._add(piece.start, piece.stop, piece.turn, Why.ANSWER if self._is_answer(piece) else Why.OTHER_ROLE)

    def _inside(self, before: DataPiece, after: DataPiece) -> None:
        """Template text between two pieces of one turn."""
        if not self._is_answer(before):
            self._add(before.stop, after.start, before.turn, Why.OTHER_ROLE)
        elif self._replaces_data(before, after):
            self._add(before.stop, after.start, before.turn, Why.WRAPPING)
        else:
            self._add(before.stop, after.start, before.turn, Why.TEMPLATE_IN_ANSWER)

    def _replaces_data(self, before: DataPiece, after: DataPiece) -> bool:
        return before.origin != after.origin or before.index_stop < after.index

    def _between(self, before: DataPiece | None, after: DataPiece | None, start: int, stop: int, number: int) -> None:
        """Template text between two turns, or at either end of the chat."""
        if before is not None and self._is_answer(before):
            start = self._close(before, start, stop)
        if after is not None and self._is_answer(after):
            self._lead(start, stop, after, number)
        else:
            self._add(start, stop, after.turn if after is not None else None, Why.TEMPLATE)

    def _close(self, before: DataPiece, start: int, stop: int) -> int:
        """The end of an answer's turn, with what stands in front of it; returns where the rest begins."""
        match = self._turn_end(start, stop)
        if match is None:
            return start
        self._trail(before, start, match.start())
        self._add(match.start(), match.end(), before.turn, Why.TURN_END)
        return match.end()

    def _turn_end(self, start: int, stop: int) -> re.Match[str] | None:
        found = self.rules.tokens.special.search(self.text, start, stop)
        end = self.rules.facts.turn_end
        literal = re.compile(re.escape(end)).search(self.text, start, stop) if end else None
        if found is None or literal is None:
            return found or literal
        return min(found, literal, key=lambda match: match.start())

    def _trail(self, before: DataPiece, start: int, stop: int) -> None:
        """Template text between an answer's last piece and the token that ends the turn."""
        printed = _solid(self.text[start:stop])
        rest = _solid(self._source(before)[before.index_stop :])
        if not printed:
            self._add(start, stop, before.turn, Why.TURN_END)
        elif before.origin.field != CONTENT or (rest and printed.startswith(rest)):
            self._add(start, stop, before.turn, Why.WRAPPING)
        else:
            self._add(start, stop, before.turn, Why.TEMPLATE_IN_ANSWER)

    def _lead(self, start: int, stop: int, after: DataPiece, number: int) -> None:
        """The header of the answer that follows the gap, and template text between the two."""
        prompt = find_header(self.text[start:stop], self.rules.facts.generation_prompt, self.rules.tokens.added)
        header_start, header_stop = start + prompt[0], start + prompt[1]
        born = self._born_in_data(start, stop, after)
        supplied = max(header_start, min(born, header_stop))
        answer_start = header_stop if self._opens_a_wrap(after, number) else max(header_stop, born)
        if not self.text[header_stop:answer_start].strip():
            header_stop = answer_start
        self._add(start, header_start, None, Why.TEMPLATE)
        self._add(header_start, supplied, after.turn, Why.HEADER)
        self._add(supplied, header_stop, after.turn, Why.SUPPLIED if born < header_stop else Why.HEADER)
        self._add(header_stop, answer_start, after.turn, Why.TEMPLATE_IN_ANSWER)
        self._add(answer_start, stop, after.turn, Why.WRAPPING)

    def _born_in_data(self, start: int, stop: int, after: DataPiece) -> int:
        """Where the template's text before the piece begins to be what stands there in the data, too.

        White space aside, all that the data has in front of the piece must be there; otherwise `stop`.
        """
        position = stop
        for character in reversed(_solid(self._source(after)[: after.index])):
            position -= 1
            while position >= start and self.text[position].isspace():
                position -= 1
            if position < start or self.text[position] != character:
                return stop
        return position

    def _opens_a_wrap(self, after: DataPiece, number: int) -> bool:
        """Whether template text in front of the piece belongs to the answer without standing in the data."""
        return after.origin.field != CONTENT or self._is_closed_by_data(number)

    def _is_closed_by_data(self, number: int) -> bool:
        """Whether text of the data that the template prints anew follows the piece: then the two wrap it."""
        if number + 1 >= len(self.pieces):
            return False
        piece, following = self.pieces[number], self.pieces[number + 1]
        return piece.turn == following.turn and self._stands_between(piece, following)

    def _stands_between(self, piece: DataPiece, following: DataPiece) -> bool:
        skipped = _solid(self._source(piece)[piece.index_stop : following.index])
        same_source = piece.origin == following.origin
        return same_source and bool(skipped) and skipped == _solid(self.text[piece.stop : following.start])

    def _source(self, piece: DataPiece) -> str:
        return self.turns[piece.turn].texts[piece.origin.field]


@lru_cache(maxsize=1024)
def find_header(gap: str, prompt: str, added_tokens: re.Pattern[str]) -> tuple[int, int]:
    """Where the header stands in the template text before an answer.

    It is the last place that begins like the generation prompt, as far as the two agree in whole tokens or lines (a
    prompt may go on, for example into an opened think block). Without any such place, or without a prompt, all of
    the gap is header.
    """
    tokens = [match.end() for match in added_tokens.finditer(prompt)]
    lines = [number for number, character in enumerate(prompt, start=1) if character == "\n"]
    shortest = tokens[0] if tokens else len(prompt.rstrip())
    for length in sorted({*tokens, *lines, len(prompt.rstrip()), len(prompt)}, reverse=True):
        start = gap.rfind(prompt[:length])
        if start >= 0 and length and length >= shortest:
            return start, start + length
    return 0, len(gap)


def _solid(text: str) -> str:
    """The text without its white space."""
    return "".join(text.split())
