"""Why a stretch of a text has loss or not, as codes for programs and sentences for people."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Why(StrEnum):
    """The codes of docs/json.md."""

    ANSWER = "answer"
    WRAPPING = "wrapping"
    TURN_END = "turn_end"
    TEMPLATE_IN_ANSWER = "template_in_answer"
    REASONING = "reasoning"
    HEADER = "header"
    SUPPLIED = "supplied"
    TEMPLATE = "template"
    OTHER_ROLE = "other_role"
    WEIGHT_ZERO = "weight_zero"
    EMPTY_ANSWER = "empty_answer"
    NOT_LAST_TURN = "not_last_turn"
    PROMPT = "prompt"
    TEXT = "text"
    GIVEN_LOSS = "given_loss"
    GIVEN_NO_LOSS = "given_no_loss"
    FIRST_TOKEN = "first_token"
    CUT_OFF = "cut_off"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANINGS[self]


_MEANINGS = {
    Why.ANSWER: "Text of the data that the assistant has to produce.",
    Why.WRAPPING: "Printed by the template around the answer's text because the data brought it there.",
    Why.TURN_END: "The end of the answer, which the assistant has to produce, too.",
    Why.TEMPLATE_IN_ANSWER: "Put into the answer by the template itself (data.train_on_template_text).",
    Why.REASONING: "Reasoning of the answer, with its tags (data.train_on_reasoning).",
    Why.HEADER: "The header in front of an answer, which inference supplies.",
    Why.SUPPLIED: "Text of the data that the generation prompt supplies at inference.",
    Why.TEMPLATE: "Text of the template that belongs to no answer.",
    Why.OTHER_ROLE: "A turn that is not the assistant's.",
    Why.WEIGHT_ZERO: "The data leaves this turn out: it has weight 0, or it stands in the prompt.",
    Why.EMPTY_ANSWER: "An answer without text, which is never trained.",
    Why.NOT_LAST_TURN: "An earlier answer; only the last one is trained (data.last_turn_only).",
    Why.PROMPT: "The prompt of a row of prompt and completion.",
    Why.TEXT: "Plain text, all of which is trained.",
    Why.GIVEN_LOSS: "Trained because the row, which came tokenized, says so.",
    Why.GIVEN_NO_LOSS: "Not trained because the row, which came tokenized, says so.",
    Why.FIRST_TOKEN: "The first token, before which nothing stands that it could be predicted from.",
    Why.CUT_OFF: "Behind the limit of length (data.max_seq_length), so it is cut off.",
}


class Segment(NamedTuple):
    """Characters `start` up to `stop`, the turn they belong to (from 0; None for none) and whether they have loss."""

    start: int
    stop: int
    turn: int | None
    why: Why
    loss: bool
