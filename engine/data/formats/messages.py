"""Rows with a list of chat messages: OpenAI's `messages` and ShareGPT's `conversations`.

Each message has `role` and `content`, or `from` and `value`, whatever the list is called.
"""

from __future__ import annotations

from functools import partial

from engine.data.conversation import Conversation, Kind
from engine.data.formats.fields import refuse, type_in_words
from engine.data.formats.format import Format
from engine.data.formats.tools import row_tools
from engine.data.formats.turns import turns_of
from engine.data.sources.rows import RawRow

MESSAGES = "messages"
CONVERSATIONS = "conversations"


def messages_format(field: str) -> Format:
    """The format of rows whose messages stand under `field`."""
    form = "{from, value}" if field == CONVERSATIONS else "{role, content}"
    return Format(
        shape=f"{field!r} (a list of {form})",
        trained_key=lambda row: field if field in row else None,
        parse=partial(parse_messages, field=field),
    )


def parse_messages(raw: RawRow, field: str) -> Conversation:
    """Check one row of chat messages.

    Raises:
        BadRowError: it is not a chat.
    """
    messages = raw.value[field]
    if not isinstance(messages, list):
        refuse(raw, "UNKNOWN_SCHEMA", f"{field!r} must be a list of messages, found {type_in_words(messages)}")
    if not messages:
        refuse(raw, "EMPTY_CHAT", f"{field!r} is an empty list")
    kind: Kind = "conversations" if field == CONVERSATIONS else "messages"
    return Conversation(raw.row, raw.file, raw.line, turns_of(raw, messages), row_tools(raw), kind)
