"""Tools that many rows offer are traced once, and every row gets the text that it would get by itself."""

from __future__ import annotations

from typing import Any

import pytest

from engine.data.conversation import Conversation, Turn
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from engine.data.template.traced import runs_of
from tests.data.conftest import byte_tokenizer

TEMPLATES = {
    "as they are": "{{ tool | tojson }}",
    "in lines": "{{ tool | tojson(indent=2) }}",
    "tight": "{{ tool | tojson(separators=[',', ':']) }}",
    "in parts": "{{ tool.name }}: {{ tool.parameters | tojson }}",
}


def template(tool: str) -> str:
    return (
        "{% for tool in tools or [] %}" + tool + "{% endfor %}{% for m in messages %}"
        "{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
    )


def offering(*names: str) -> Conversation:
    tools: tuple[dict[str, Any], ...] = tuple({"name": name, "parameters": {"city": "é\n"}} for name in names)
    turns = (Turn("user", {"content": "Rain?"}), Turn("assistant", {"content": "Yes."}))
    return Conversation(0, "tools.jsonl", 1, turns, tools)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_row_gets_its_own_tools_whatever_came_before(name: str) -> None:
    tokenizer = byte_tokenizer(template(TEMPLATES[name]))
    shared = Renderer(tokenizer)
    rows = [offering("rain"), offering("rain", "wind"), offering("rain"), offering("wind", "rain"), offering()]
    for row, together in zip(rows, shared.render(rows), strict=True):
        (alone,) = Renderer(tokenizer).render([row])
        assert isinstance(together, Rendered)
        assert isinstance(alone, Rendered)
        assert together.text == alone.text
        assert runs_of(together.text) == runs_of(alone.text)
        assert list(together.input_ids) == list(alone.input_ids)
        assert together.segments == alone.segments
