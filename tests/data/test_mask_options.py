"""`data.train_on_reasoning`, `data.last_turn_only` and `data.train_on_template_text`."""

from __future__ import annotations

import pytest

from engine.data import DataError
from engine.data.formats import parse_row
from engine.data.masking.draft import Draft
from engine.data.masking.reasons import Why
from engine.data.masking.rules import MaskOptions
from engine.data.rendering.renderer import Renderer
from engine.data.sources.rows import RawRow
from tests.data import templates
from tests.data.conftest import Message, Prepare, byte_tokenizer, chat


def reasons(template: str, messages: list[Message], options: MaskOptions) -> list[tuple[str, Why, bool]]:
    """The segments as text, reason and loss."""
    draft = Renderer(byte_tokenizer(template), options).draft(
        parse_row(RawRow(0, "a.jsonl", 1, {"messages": messages}))
    )
    assert isinstance(draft, Draft)
    plain = str.__getitem__(draft.text, slice(None))
    return [(plain[segment.start : segment.stop], segment.why, segment.loss) for segment in draft.segments]


WRITTEN = chat("2+2?", "<think>\nadd\n</think>\n\n4")
KEYED = [*chat("2+2?"), {"role": "assistant", "content": "4", "reasoning_content": "add"}]


@pytest.mark.parametrize("messages", [WRITTEN, KEYED], ids=["in the text", "under its key"])
@pytest.mark.parametrize("template", [templates.THINK, templates.OPENED_THINK, templates.LAST_QUESTION])
def test_reasoning_and_its_tags_can_be_left_out(prepare_rows: Prepare, messages: list[Message], template: str) -> None:
    assert prepare_rows(messages, template=template, train_on_reasoning=False).trained_text() == "4<|im_end|>"
    assert "add" in prepare_rows(messages, template=template).trained_text()


def test_reasoning_that_the_template_prints_as_it_stands(prepare_rows: Prepare) -> None:
    assert prepare_rows(WRITTEN, train_on_reasoning=False).trained_text() == "4<|im_end|>"
    found = reasons(templates.CHATML, WRITTEN, MaskOptions(train_on_reasoning=False))
    assert ("<think>\nadd\n</think>\n\n", Why.REASONING, False) in found
    assert ("4", Why.ANSWER, True) in found


def test_reasoning_before_a_call_leaves_the_call(prepare_rows: Prepare) -> None:
    start = templates.CHATML.index("{% for c in")
    calls = templates.CHATML[start : templates.CHATML.index("{{ '<|im_end|>", start)]
    template = templates.THINK.replace("{{ '<|im_end|>\\n' }}", calls + "{{ '<|im_end|>\\n' }}")
    assert template != templates.THINK
    call = {"type": "function", "function": {"name": "f", "arguments": {"a": "b"}}}
    turn = {"role": "assistant", "content": "", "reasoning_content": "ask", "tool_calls": [call]}
    prepared = prepare_rows([*chat("2+2?"), turn], template=template, train_on_reasoning=False)
    expected = '<tool_call>{"name": "f", "arguments": {"a": "b"}}</tool_call><|im_end|>'
    assert prepared.trained_text() == expected
    with_reasoning = prepare_rows([*chat("2+2?"), turn], template=template)
    assert with_reasoning.trained_text() == "<think>\nask\n</think>\n\n" + expected


def test_an_answer_of_reasoning_alone_is_empty_without_it(prepare_rows: Prepare) -> None:
    alone = [*chat("2+2?"), {"role": "assistant", "content": "", "reasoning_content": "add"}]
    with pytest.raises(DataError, match="NO_TRAINABLE_TOKENS"):
        prepare_rows(alone, template=templates.THINK, train_on_reasoning=False)
    assert prepare_rows(alone, template=templates.THINK).trained_text() == "<think>\nadd\n</think>\n\n<|im_end|>"


def test_an_answer_about_think_tags_is_no_reasoning(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("Tags?", "Use <think> and </think>."), train_on_reasoning=False)
    assert prepared.trained_text() == "Use <think> and </think>.<|im_end|>"


def test_the_last_answer_alone(prepare_rows: Prepare) -> None:
    messages = chat("a", "b", "c", "d", "e")
    prepared = prepare_rows(messages, last_turn_only=True)
    assert prepared.trained_text() == "d<|im_end|>"
    found = reasons(templates.CHATML, messages, MaskOptions(last_turn_only=True))
    assert ("b<|im_end|>", Why.NOT_LAST_TURN, False) in found


def test_an_empty_last_answer_leaves_nothing_to_train(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("a", "b", "c", ""), chat("a", "b"), last_turn_only=True)
    assert [sample.row for sample in prepared.data.train] == [1]


def test_template_text_in_an_answer_is_a_choice(prepare_rows: Prepare) -> None:
    found = reasons(templates.THINK, chat("2+2?", "Four."), MaskOptions(train_on_template_text=True))
    assert ("<think>\n\n</think>\n\n", Why.TEMPLATE_IN_ANSWER, True) in found
    both = prepare_rows(
        chat("2+2?", "Four."), template=templates.THINK, train_on_template_text=True, train_on_reasoning=False
    )
    assert both.trained_text() == "<think>\n\n</think>\n\nFour.<|im_end|>"


@pytest.mark.parametrize("why", Why)
def test_every_reason_has_a_sentence_for_people(why: Why) -> None:
    assert why.meaning.endswith(".") and len(why.meaning) > 20
