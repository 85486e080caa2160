"""From a token back to the characters of the data."""

from __future__ import annotations

from typing import Any

from engine.data.conversation import Conversation
from engine.data.formats import parse_row
from engine.data.paths import child_path, strings_of
from engine.data.rendering.provenance import Source, Sources
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from engine.data.sources.rows import RawRow
from tests.data import templates
from tests.data.conftest import byte_tokenizer, chat


def rendered(messages: list[dict[str, Any]], template: str = templates.CHATML, merges: bool = False) -> Rendered:
    (found,) = Renderer(byte_tokenizer(template, merges)).render([parse_row(RawRow(0, "a", 1, {"messages": messages}))])
    assert isinstance(found, Rendered)
    return found


def test_every_token_leads_back_to_its_characters() -> None:
    row = rendered(chat("é?", "a\n\nb\U0001f600"), merges=True)
    conversation = row.example
    assert isinstance(conversation, Conversation)
    sources = Sources(row)
    for token, start in enumerate(row.starts):
        source = sources.of(token)
        if source is not None:
            assert source.turn is not None
            text = conversation.turns[source.turn].texts[source.field]
            shown = str.__getitem__(row.text, slice(start, start + source.stop - source.start))
            assert text[source.start : source.stop] == shown
    parts = [sources.of(token) for token in range(len(row.input_ids))]
    assert parts.count(Source(1, "content", 4, 5)) == 4  # one sign, four bytes
    assert parts.count(Source(1, "content", 1, 3)) == 1  # two newlines, one token
    assert parts[0] is None


def test_text_of_the_template_has_no_source_and_arguments_have_their_path() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": {"a.b": 'x"y'}}}
    row = rendered([*chat("q"), {"role": "assistant", "content": "", "tool_calls": [call]}])
    fields = {
        (source.field, source.start, source.stop) for source in map(Sources(row).of, range(len(row.starts))) if source
    }
    path = r"tool_calls.0.function.arguments.a\.b"
    assert {
        ("tool_calls.0.function.name", 0, 1),
        (path, 0, 1),
        (path, 1, 2),
        (path, 2, 3),
        (f"{path}#", 0, 1),
    } <= fields


def test_paths_are_unambiguous() -> None:
    value = {"arguments": {"a.b": "1", "a": {"b": "2"}, "a#": "3", "": "4", "\\": {".": "5"}}}
    found = list(strings_of(value))
    assert len({path for path, _ in found}) == len(found)
    assert child_path("content", 0) == "content.0"
