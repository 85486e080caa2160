"""Alpaca's rows: `instruction`, `input` and `output`, also with `system` and `history`.

Dolly's names for the same, `context` and `response`, are taken as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.data.conversation import Conversation
from engine.data.formats.fields import first_present, optional_text, refuse, type_in_words
from engine.data.formats.format import Format
from engine.data.formats.tools import row_tools
from engine.data.formats.turns import message, turns_of
from engine.data.sources.rows import RawRow


def answer_key(row: Mapping[str, Any]) -> str | None:
    """Where the answer stands."""
    return first_present(row, "output", "response") if "instruction" in row else None


def parse_alpaca(raw: RawRow) -> Conversation:
    """The instruction, with a newline and the input behind it where there is one, and the answer.

    `history` holds earlier pairs of question and answer.

    Raises:
        BadRowError: a value is no string, or the history no list of pairs.
    """
    instruction = optional_text(raw, "instruction")
    material = optional_text(raw, first_present(raw.value, "input", "context") or "input")
    question = "\n".join(text for text in (instruction, material) if text.strip())
    messages = [*_history(raw), message("user", question)]
    messages.append(message("assistant", optional_text(raw, answer_key(raw.value) or "output")))
    return Conversation(raw.row, raw.file, raw.line, turns_of(raw, messages), row_tools(raw), "alpaca")


def _history(raw: RawRow) -> list[dict[str, Any]]:
    history = raw.value.get("history")
    if history is None:
        return []
    if not isinstance(history, list):
        refuse(raw, "BAD_MESSAGE", f"history must be a list of [question, answer], found {type_in_words(history)}")
    messages: list[dict[str, Any]] = []
    for pair in history:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            refuse(raw, "BAD_MESSAGE", "each entry of history must be a list of two, [question, answer]")
        messages += [message("user", pair[0]), message("assistant", pair[1])]
    return messages


ALPACA = Format(
    shape="'instruction' + 'output' (also 'input', 'system', 'history')", trained_key=answer_key, parse=parse_alpaca
)
