"""Rows of a prompt without loss and a completion with loss: plain text, or messages on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.data.conversation import Conversation, Document, Part
from engine.data.formats.fields import optional_text, refuse, type_in_words
from engine.data.formats.format import Format
from engine.data.formats.tools import row_tools
from engine.data.formats.turns import message, system_text, turns_of
from engine.data.sources.rows import RawRow


def completion_key(row: Mapping[str, Any]) -> str | None:
    """Where the completion stands."""
    return "completion" if "prompt" in row and "completion" in row else None


def parse_prompt_completion(raw: RawRow) -> Conversation | Document:
    """Two strings are plain text. With a list of messages on either side the row is a chat, in which answers of the
    prompt are not trained; a string beside such a list is one turn.

    Raises:
        BadRowError: a side is neither a string nor a list of messages, or it is a row of a preference set.
    """
    prompt, completion = raw.value["prompt"], raw.value["completion"]
    if isinstance(raw.value.get("label"), bool):
        reason = "a prompt and completion with a true or false 'label' is a row of a preference set (KTO)"
        refuse(raw, "PREFERENCE_ROW", f"{reason}; keep the good ones and leave the label out")
    if isinstance(prompt, list) or isinstance(completion, list):
        return _chat(raw, _messages(raw, "prompt", "user"), _messages(raw, "completion", "assistant"))
    if system_text(raw) or row_tools(raw):
        reason = "a prompt and a completion that are strings are plain text, without a system prompt or tools"
        refuse(raw, "BAD_MESSAGE", f"{reason}; write them as lists of messages")
    parts = Part("prompt", optional_text(raw, "prompt")), Part("completion", optional_text(raw, "completion"))
    return Document(raw.row, raw.file, raw.line, tuple(part for part in parts if part.text), "prompt_completion")


def _chat(raw: RawRow, prompt: list[Any], completion: list[Any]) -> Conversation:
    if not completion:
        refuse(raw, "EMPTY_CHAT", "'completion' is an empty list")
    before = turns_of(raw, prompt, are_trained=False)
    turns = (*before, *turns_of(raw, completion, first=len(before)))
    return Conversation(raw.row, raw.file, raw.line, turns, row_tools(raw), "prompt_completion")


def _messages(raw: RawRow, key: str, role: str) -> list[Any]:
    value = raw.value[key]
    if isinstance(value, str):
        return [message(role, value)]
    if not isinstance(value, list):
        refuse(raw, "BAD_MESSAGE", f"{key!r} must be a string or a list of messages, found {type_in_words(value)}")
    return value


PROMPT_COMPLETION = Format(
    shape="'prompt' + 'completion' (two strings or two lists of messages)",
    trained_key=completion_key,
    parse=parse_prompt_completion,
)
