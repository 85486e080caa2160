"""From the formats in use to the one internal form, row by row. A format is one file and one line of the table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Never

from engine.data.conversation import Example
from engine.data.formats.alpaca import ALPACA
from engine.data.formats.fields import is_blank, refuse
from engine.data.formats.format import Format
from engine.data.formats.messages import CONVERSATIONS, MESSAGES, messages_format
from engine.data.formats.padding import without_padding
from engine.data.formats.prompt_completion import PROMPT_COMPLETION
from engine.data.formats.question_answer import QUESTION_ANSWER
from engine.data.formats.text import TEXT
from engine.data.formats.tokenized import TOKENIZED
from engine.data.sources.rows import RawRow


@lru_cache(maxsize=16)
def formats(messages_field: str = MESSAGES) -> tuple[Format, ...]:
    """All formats in the order of their precedence: what says most about the row comes first."""
    return (
        *(messages_format(field) for field in dict.fromkeys((messages_field, MESSAGES, CONVERSATIONS))),
        ALPACA,
        PROMPT_COMPLETION,
        QUESTION_ANSWER,
        TOKENIZED,
        TEXT,
    )


def parse_row(raw: RawRow, messages_field: str = MESSAGES) -> Example:
    """Recognise the row's format by its keys, and check it.

    A row may have the keys of several formats, as sets do that keep a rendered `text` beside their messages, and tables
    that are joined of several sets. Of these formats the first of the table is taken in which the key that is trained
    (messages, output, completion, answer, ids, text) holds something. Where it holds nothing in any of them, the first
    format says what is missing.

    Raises:
        BadRowError: its format is not known, or it breaks the rules of its format.
    """
    raw = without_padding(raw)
    first: Format | None = None
    for one in formats(messages_field):
        key = one.trained_key(raw.value)
        if key is None:
            continue
        if not is_blank(raw.value[key]):
            return one.parse(raw)
        first = first or one
    if first is None:
        _refuse_unknown(raw, formats(messages_field))
    return first.parse(raw)


def _refuse_unknown(raw: RawRow, known: tuple[Format, ...]) -> Never:
    row = raw.value
    if "chosen" in row and "rejected" in row:
        reason = "'chosen' and 'rejected' are a preference pair, which this fine-tuning does not learn from"
        refuse(raw, "PREFERENCE_ROW", f"{reason}; make 'messages' of the chosen side")
    keys = ", ".join(_shown_key(key, value) for key, value in list(row.items())[:20]) or "no key at all"
    hint = next((f"; {key!r} looks like messages: name it in data.messages_field" for key in _chats(row)), "")
    shapes = "; ".join(one.shape for one in known)
    reason = f"the format of this row is not known (keys found: {keys}){hint}"
    refuse(raw, "UNKNOWN_SCHEMA", f"{reason}; known are {shapes}")


def _shown_key(key: str, value: Any) -> str:
    return f"{key!r} (null)" if value is None else repr(key)


def _chats(row: Mapping[str, Any]) -> list[str]:
    """Keys under which there are lists of messages."""
    return [
        key
        for key, value in row.items()
        if isinstance(value, list) and value and isinstance(value[0], dict) and value[0].keys() & {"role", "from"}
    ]
