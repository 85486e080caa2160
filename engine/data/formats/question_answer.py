"""Rows of one question and one answer, which are chats of two turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.data.conversation import Conversation
from engine.data.formats.fields import first_present, is_blank, optional_text, refuse
from engine.data.formats.format import Format
from engine.data.formats.tools import row_tools
from engine.data.formats.turns import message, turns_of
from engine.data.sources.rows import RawRow

_QUESTIONS = ("question", "query")
_ANSWERS = ("answer", "response")
_MATERIAL = ("context", "passage", "choices", "options")


def answer_key(row: Mapping[str, Any]) -> str | None:
    """Where the answer stands."""
    return first_present(row, *_ANSWERS) if first_present(row, *_QUESTIONS) is not None else None


def parse_question_answer(raw: RawRow) -> Conversation:
    """A user's turn and an answer.

    Raises:
        BadRowError: a value is no string, or there is a context or a choice that nobody could know where to put.
    """
    material = next((key for key in _MATERIAL if not is_blank(raw.value.get(key))), None)
    if material is not None:
        reason = f"a question with {material!r} beside it can be put together in several ways"
        refuse(raw, "UNKNOWN_SCHEMA", f"{reason}; write the row as 'messages'")
    question = optional_text(raw, first_present(raw.value, *_QUESTIONS) or "question")
    answer = optional_text(raw, answer_key(raw.value) or "answer")
    turns = turns_of(raw, [message("user", question), message("assistant", answer)])
    return Conversation(raw.row, raw.file, raw.line, turns, row_tools(raw), "question_answer")


QUESTION_ANSWER = Format(
    shape="'question' + 'answer' (or 'query' + 'response')", trained_key=answer_key, parse=parse_question_answer
)
