"""From the formats in use to the one internal form, row by row."""

from __future__ import annotations

from engine.data.conversation import Example
from engine.data.formats.messages import parse_conversation
from engine.data.sources.rows import RawRow


def parse_row(raw: RawRow, messages_field: str = "messages") -> Example:
    """Recognise the row's format and check it.

    Raises:
        BadRowError: its format is not known, or it breaks the rules of its format.
    """
    return parse_conversation(raw, messages_field)
