"""Single rows through `parse_row`, and on to text and tokens."""

from __future__ import annotations

from typing import Any

from engine.data.conversation import Conversation, Example, Turn
from engine.data.errors import BadRow, BadRowError
from engine.data.formats import parse_row
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from engine.data.sources.rows import RawRow
from tests.data.conftest import byte_tokenizer


def parsed(row: dict[str, Any], is_columnar: bool = False, messages_field: str = "messages") -> Example:
    """What a row says; raises BadRowError where it is bad."""
    return parse_row(RawRow(0, "rows.jsonl", 1, row, is_columnar), messages_field)


def refusal(row: dict[str, Any], **options: Any) -> BadRow:
    """Why a row is refused."""
    try:
        example = parsed(row, **options)
    except BadRowError as error:
        return error.bad_row
    raise AssertionError(f"not refused: {example}")


def turns_of(row: dict[str, Any], **options: Any) -> tuple[Turn, ...]:
    """The turns of a row that is a chat."""
    example = parsed(row, **options)
    assert isinstance(example, Conversation)
    return example.turns


def said(row: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    """Role and text of each turn."""
    return [(turn.role, turn.content) for turn in turns_of(row, **options)]


def call(arguments: Any, name: str = "get_rain", **more: Any) -> dict[str, Any]:
    """A message that calls a tool."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": function}], **more}


def asked(*messages: dict[str, Any]) -> dict[str, Any]:
    """A row in which a question stands in front of the messages."""
    return {"messages": [{"role": "user", "content": "Rain in Oslo?"}, *messages]}


def rendered(row: dict[str, Any], tokenizer: Any = None) -> Rendered:
    """The row as text and tokens; BYTE without a chat template where no tokenizer is given."""
    (one,) = Renderer(tokenizer or byte_tokenizer(template=None)).render([parsed(row)])
    assert isinstance(one, Rendered)
    return one


def ids(text: str) -> list[int]:
    """The ids of BYTE, special tokens included."""
    encoded: list[int] = byte_tokenizer()(text)["input_ids"]
    return encoded
