"""Text and mask without the tokenizer: the inspector's first screen."""

from __future__ import annotations

from engine.data.conversation import Conversation, Turn
from engine.data.errors import BadRow
from engine.data.masking.draft import Draft
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from tests.data import templates
from tests.data.conftest import byte_tokenizer


def conversation(*turns: tuple[str, str]) -> Conversation:
    return Conversation(0, "any.jsonl", 1, tuple(Turn(role, {"content": text}) for role, text in turns))  # type: ignore[arg-type]


def test_a_draft_has_the_text_and_the_segments_of_the_rendered_row() -> None:
    renderer = Renderer(byte_tokenizer())
    chat = conversation(("user", "What colour is the sky?"), ("assistant", "Blue."))
    draft, (rendered,) = renderer.draft(chat), renderer.render([chat])
    assert isinstance(draft, Draft) and isinstance(rendered, Rendered)
    assert (draft.text, draft.segments) == (rendered.text, rendered.segments)


def test_a_draft_that_the_template_refuses_is_a_bad_row() -> None:
    renderer = Renderer(byte_tokenizer(templates.ALTERNATING))
    found = renderer.draft(conversation(("user", "a"), ("user", "b"), ("assistant", "c")))
    assert isinstance(found, BadRow)
    assert found.code == "TEMPLATE_REFUSED"
