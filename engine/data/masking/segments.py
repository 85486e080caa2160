"""Which characters of a rendered chat have loss, worked out from where each of them comes from.

The rules, for an answer that is trained:
- Text of the data has loss (reasoning only with `train_on_reasoning`), and so does what closes the turn: the end that
  the template was found to print there, or, for a template without one, the token that opens the next turn.
- The header is what the generation prompt prints; no loss.
- Other template text inside the answer has loss where inference would have to produce it, too: the template prints it
  around every answer, or the data brought it there: it stands in the data at that very place (white space aside), or
  it wraps reasoning or a tool call. Otherwise it is the template's own addition and has loss only with
  `train_on_template_text`.
"""

from __future__ import annotations

import re

from engine.data.conversation import Turn
from engine.data.masking.reasons import Segment, Why
from engine.data.masking.rules import MaskRules, untrained_turns
from engine.data.masking.stretches import Kind, Stretch, is_content, stretches_of
from engine.data.masking.think import think_stop
from engine.data.template.header import header_in, supplied_length
from engine.data.template.layout import data_pieces
from engine.data.template.traced import TracedStr


def mask_segments(text: TracedStr, turns: tuple[Turn, ...], rules: MaskRules) -> list[Segment]:
    """Cover `text` with segments, in order and without a hole."""
    return _Masker(text, turns, rules).segments()


class _Masker:
    """Walks over the stretches of one rendered chat, from gap to stretch to gap."""

    def __init__(self, text: TracedStr, turns: tuple[Turn, ...], rules: MaskRules) -> None:
        self.text = str.__getitem__(text, slice(None))
        self.turns = turns
        self.facts, self.tokens, self.options = rules.facts, rules.tokens, rules.options
        self.untrained = list(untrained_turns(turns, rules.options))
        self.stretches = stretches_of(data_pieces(text), self.text, turns, self.facts.ends, self.tokens)
        self.found: list[Segment] = []
        self.supplied = 0  # characters of the next stretch that are the rest of the generation prompt

    def segments(self) -> list[Segment]:
        before: Stretch | None = None
        for number, after in enumerate(self.stretches):
            if before is not None and before.turn == after.turn:
                self._inside(before, after)
            else:
                self._between(before, after, number)
            written = after.start + self.supplied
            self._add(after.start, written, after.turn, Why.SUPPLIED)
            self._add(written, after.stop, after.turn, _WHY[after.kind])
            self.supplied = 0
            before = after
        self._between(before, None, len(self.stretches))
        return self.found

    def _add(self, start: int, stop: int, turn: int | None, why: Why) -> None:
        """Append a segment of a turn that may have loss, or say why it has none; join it to one of the same kind."""
        if start >= stop:
            return
        loss = turn is not None and self.options.trains(why)
        untrained = self.untrained[turn] if loss and turn is not None else None
        segment = Segment(start, stop, turn, untrained or why, loss and untrained is None)
        if self.found and self.found[-1][2:] == segment[2:]:
            segment = segment._replace(start=self.found.pop().start)
        self.found.append(segment)

    def _inside(self, before: Stretch, after: Stretch) -> None:
        """Template text between two stretches of one turn."""
        start, stop, turn = before.stop, after.start, before.turn
        if not before.is_answer:
            self._add(start, stop, turn, Why.OTHER_ROLE)
        elif after.kind is Kind.REASONING:
            self._add(start, stop, turn, Why.REASONING)
        elif before.kind is Kind.REASONING:
            border = self._reasoning_stop(start, stop, after.kind)
            self._add(start, border, turn, Why.REASONING)
            self._add(border, stop, turn, Why.WRAPPING)
        elif before.field != after.field or before.index_stop < after.index or after.kind is Kind.CALL:
            self._add(start, stop, turn, Why.WRAPPING)
        else:
            self._add(start, stop, turn, Why.TEMPLATE_IN_ANSWER)

    def _reasoning_stop(self, start: int, stop: int, kind: Kind) -> int:
        """Where what wraps the reasoning ends, in template text between it and the rest of the answer."""
        leads = self.facts.leads
        if leads.reasoning_close and self.text.startswith(leads.reasoning_close, start, stop):
            return start + len(leads.reasoning_close)
        lead = leads.call if kind is Kind.CALL else leads.content
        return stop - len(lead) if lead and self.text.endswith(lead, start, stop) else stop

    def _between(self, before: Stretch | None, after: Stretch | None, number: int) -> None:
        """Template text between two turns, or at either end of the chat."""
        start = before.stop if before is not None else 0
        stop = after.start if after is not None else len(self.text)
        if before is not None and before.is_answer:
            start = self._close(before, start, stop, is_last=after is None)
        start = self._silent(before, after, start, stop)
        if after is not None and after.is_answer:
            self._lead(start, stop, after, number)
        else:
            self._add(start, stop, after.turn if after is not None else None, Why.TEMPLATE)

    def _silent(self, before: Stretch | None, after: Stretch | None, start: int, stop: int) -> int:
        """Answers without any text, of which only the template's words are there; returns where the rest begins.

        They are found by their header, as there is nothing of the data to find them by.
        """
        first = before.turn + 1 if before is not None and before.turn is not None else 0
        last = after.turn if after is not None and after.turn is not None else len(self.turns)
        header = self.facts.generation_prompt
        if not header:
            return start
        if after is not None and after.is_answer:  # the last header is the one of that answer
            stop = max(self.text.rfind(header, start, stop), start)
        for turn in range(first, last):
            at = self.text.find(header, start, stop) if _is_silent(self.turns[turn]) else -1
            if at < 0:
                continue
            answer = at + len(header)
            end = self.facts.ends.find(self.text, answer, stop)
            self._add(start, at, None, Why.TEMPLATE)
            self._add(at, answer, turn, Why.HEADER)
            start = answer
            if end is not None:
                self._add(answer, end.end(), turn, Why.TURN_END)
                start = end.end()
        return start

    def _close(self, before: Stretch, start: int, stop: int, is_last: bool) -> int:
        """The end of an answer's turn, with what stands in front of it; returns where the rest begins."""
        match = self._turn_end(before, start, stop)
        if match is not None:
            self._trail(before, start, match.start())
            self._add(match.start(), match.end(), before.turn, Why.TURN_END)
            return match.end()
        if before.kind is Kind.CALL and is_last:
            border = start + len(self.text[start:stop].rstrip())
            self._trail(before, start, border)
            return border
        return start

    def _turn_end(self, before: Stretch, start: int, stop: int) -> re.Match[str] | None:
        ends = self.facts.ends
        found = ends.find(self.text, start, stop)
        if found or (ends.all and before.kind is not Kind.CALL):
            return found
        closer = self.text.rfind(ends.closer, start, stop) if ends.closer and before.kind is Kind.CALL else -1
        return self.tokens.special.search(self.text, closer + len(ends.closer) if closer >= 0 else start, stop)

    def _trail(self, before: Stretch, start: int, stop: int) -> None:
        """Template text between an answer's last text and the end of the turn."""
        printed = _solid(self.text[start:stop])
        if not printed or self.text[start:stop] == self.facts.ends.tail:
            self._add(start, stop, before.turn, Why.TURN_END)
        elif before.kind is Kind.REASONING:
            self._add(start, stop, before.turn, Why.REASONING)
        elif not is_content(before.field) or self._has_hidden_call(before) or self._is_rest_of_data(before, printed):
            self._add(start, stop, before.turn, Why.WRAPPING)
        else:
            self._add(start, stop, before.turn, Why.TEMPLATE_IN_ANSWER)

    def _has_hidden_call(self, before: Stretch) -> bool:
        """The turn calls a tool, and the call is printed in a form that cannot be traced to the data."""
        return before.turn is not None and bool(self.turns[before.turn].tool_calls)

    def _is_rest_of_data(self, before: Stretch, printed: str) -> bool:
        rest = _solid(self._source(before)[before.index_stop :])
        return bool(rest) and printed.startswith(rest)

    def _lead(self, start: int, stop: int, after: Stretch, number: int) -> None:
        """The header of the answer that follows the gap, and template text between the two."""
        header_start, header_stop = self._header(start, stop, after)
        born = self._born_in_data(start, stop, after)
        supplied = max(header_start, min(born, header_stop))
        answer_start, is_framed = self._answer_start(header_stop, stop, after, number, born)
        if not is_framed and not self.text[header_stop:answer_start].strip():
            header_stop = answer_start
        self._add(start, header_start, None, Why.TEMPLATE)
        self._add(header_start, supplied, after.turn, Why.HEADER)
        self._add(supplied, header_stop, after.turn, Why.SUPPLIED if born < header_stop else Why.HEADER)
        self._add(header_stop, answer_start, after.turn, Why.TEMPLATE_IN_ANSWER)
        self._add(answer_start, stop, after.turn, self._why_of_lead(after, number))

    def _header(self, start: int, stop: int, after: Stretch) -> tuple[int, int]:
        gap = self.text[start:stop]
        header = header_in(gap, self.facts.generation_prompt, self.tokens.added)
        if header is not None:
            if header[1] == len(gap):
                rest = self.facts.generation_prompt[header[1] - header[0] :]
                self.supplied = supplied_length(self.text, stop, after.stop, rest, self.tokens.added)
            return start + header[0], start + header[1]
        leads = self.facts.leads
        lead = self._content_lead(after) if is_content(after.field) else leads.reasoning
        lead = leads.call if after.kind is Kind.CALL else lead
        return start, stop - len(lead) if gap.endswith(lead) else stop

    def _answer_start(self, start: int, stop: int, after: Stretch, number: int, born: int) -> tuple[int, bool]:
        """Where text that the answer has to produce begins, and whether that is because the template frames it so."""
        if after.kind is Kind.REASONING or self._is_closed_by_data(number):
            return start, True
        if after.kind is Kind.CALL:
            return self._behind_empty_lead(start, stop), True
        lead = self._content_lead(after)
        framed = stop - len(lead)
        if lead and framed >= start and self.text.endswith(lead, start, stop):
            return min(framed, max(start, born)), True
        return max(start, born), False

    def _content_lead(self, after: Stretch) -> str:
        leads = self.facts.leads
        calls = after.turn is not None and self.turns[after.turn].tool_calls
        return leads.content_before_call if calls else leads.content

    def _behind_empty_lead(self, start: int, stop: int) -> int:
        """Where text begins that a call brought, behind what the template prints in place of reasoning."""
        empty = self.facts.leads.empty
        solid = empty.strip()
        at = self.text.find(solid, start, stop) if solid else -1
        if at < 0 or self.text[start:at].strip():
            return start
        white = empty[empty.index(solid) + len(solid) :]
        behind = at + len(solid)
        return behind + len(white) if self.text.startswith(white, behind, stop) else behind

    def _why_of_lead(self, after: Stretch, number: int) -> Why:
        """Tags in front of reasoning belong to it, and so do the tags of an empty think block that the data has."""
        if after.kind is Kind.REASONING:
            return Why.REASONING
        stands_behind = is_content(after.field) and 0 < think_stop(self._source(after)) <= after.index
        return Why.REASONING if stands_behind and not self._is_closed_by_data(number) else Why.WRAPPING

    def _born_in_data(self, start: int, stop: int, after: Stretch) -> int:
        """Where the template's text before the stretch begins to be what stands there in the data, too.

        White space aside, all that the data has in front of the stretch must be there; otherwise `stop`.
        """
        position = stop
        for character in reversed(_solid(self._source(after)[: after.index])):
            position -= 1
            while position >= start and self.text[position].isspace():
                position -= 1
            if position < start or self.text[position] != character:
                return stop
        return position

    def _is_closed_by_data(self, number: int) -> bool:
        """Whether text of the data that the template prints anew follows the stretch: then the two wrap it."""
        if number + 1 >= len(self.stretches):
            return False
        stretch, following = self.stretches[number], self.stretches[number + 1]
        if (stretch.turn, stretch.field) != (following.turn, following.field):
            return False
        skipped = _solid(self._source(stretch)[stretch.index_stop : following.index])
        return bool(skipped) and skipped == _solid(self.text[stretch.stop : following.start])

    def _source(self, stretch: Stretch) -> str:
        assert stretch.turn is not None
        return self.turns[stretch.turn].texts[stretch.field]


_WHY = {
    Kind.CONTENT: Why.ANSWER,
    Kind.REASONING: Why.REASONING,
    Kind.CALL: Why.ANSWER,
    Kind.OTHER_ROLE: Why.OTHER_ROLE,
}


def _is_silent(turn: Turn) -> bool:
    return turn.is_answer and turn.is_empty


def _solid(text: str) -> str:
    """The text without its white space."""
    return "".join(text.split())
