"""An answer without any text has its turn, so that people can be shown which one it is."""

from __future__ import annotations

import pytest

from engine.data.formats import parse_row
from engine.data.masking.draft import Draft
from engine.data.masking.reasons import Why
from engine.data.masking.rules import MaskOptions
from engine.data.rendering.renderer import Renderer
from engine.data.sources.rows import RawRow
from tests.data import templates
from tests.data.conftest import byte_tokenizer


def segments(template: str, *turns: tuple[str, str | None]) -> list[tuple[str, int | None, Why, bool]]:
    """The segments as text, turn from 0, reason and loss."""
    messages = [{"role": role, "content": content} for role, content in turns]
    draft = Renderer(byte_tokenizer(template), MaskOptions()).draft(
        parse_row(RawRow(0, "a.jsonl", 1, {"messages": messages}))
    )
    assert isinstance(draft, Draft)
    plain = str.__getitem__(draft.text, slice(None))
    assert "".join(plain[segment.start : segment.stop] for segment in draft.segments) == plain
    return [(plain[segment.start : segment.stop], *segment[2:]) for segment in draft.segments]


@pytest.mark.parametrize("content", ["", None])
def test_the_only_answer_is_empty(content: str | None) -> None:
    assert segments(templates.CHATML, ("user", "Say nothing"), ("assistant", content))[-3:] == [
        ("<|im_start|>assistant\n", 1, Why.HEADER, False),
        ("<|im_end|>", 1, Why.EMPTY_ANSWER, False),
        ("\n", None, Why.TEMPLATE, False),
    ]


@pytest.mark.parametrize(
    ("template", "header", "end"),
    [
        (templates.CHATML, "<|im_start|>assistant\n", "<|im_end|>"),
        (templates.TRIM, "<|h|>assistant<|/h|>\n\n", "<|eot|>"),
        (templates.NEXT, "<|assistant|>\n", ""),
    ],
)
def test_an_empty_answer_between_others(template: str, header: str, end: str) -> None:
    found = segments(template, ("user", "a"), ("assistant", ""), ("user", "b"), ("assistant", "c"))
    assert (header, 1, Why.HEADER, False) in found and (header, 3, Why.HEADER, False) in found
    assert ((end, 1, Why.EMPTY_ANSWER, False) in found) == bool(end)
    assert ("c", 3, Why.ANSWER, True) in found
    assert not any(loss for _, turn, _, loss in found if turn != 3)


def test_two_answers_in_a_row_of_which_the_first_is_empty() -> None:
    found = segments(templates.CHATML, ("user", "a"), ("assistant", ""), ("assistant", "c"))
    headers = [turn for text, turn, why, _ in found if why is Why.HEADER]
    assert headers == [1, 2]
    assert ("c", 2, Why.ANSWER, True) in found


def test_a_template_that_leaves_empty_answers_out_gives_their_turn_nothing() -> None:
    template = templates.CHATML.replace("{% for m in messages %}", "{% for m in messages if m['content'] %}", 1)
    assert template != templates.CHATML
    found = segments(template, ("user", "a"), ("assistant", ""), ("assistant", "c"))
    assert [turn for _, turn, why, _ in found if why is Why.HEADER] == [2]
    assert 1 not in [turn for _, turn, _, _ in found]
