"""Random chats with every template: ids as the tokenizer's own, loss on the answers and nothing else."""

from __future__ import annotations

import random

import pytest

from engine.data.formats import parse_row
from engine.data.masking.reasons import Why
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from engine.data.sources.rows import RawRow
from tests.data import templates
from tests.data.conftest import SPECIALS, Message, byte_tokenizer

WORDS = ["yes", "no", "\n\n", " ", "é", "\U0001f600", "<think>", "</think>", "assistant", "a b", "\n", "### Answer:"]


def random_chat(drawn: random.Random, words: list[str]) -> list[Message]:
    def text() -> str:
        return "".join(drawn.choice(words) for _ in range(drawn.randrange(6)))

    roles = [drawn.choice(["user", "assistant"]) for _ in range(drawn.randrange(1, 7))]
    start = [{"role": "system", "content": text()}] if drawn.random() < 0.4 else []
    return start + [{"role": role, "content": text()} for role in roles]


def render(renderer: Renderer, messages: list[Message]) -> Rendered:
    (rendered,) = renderer.render([parse_row(RawRow(0, "any.jsonl", 1, {"messages": messages}))])
    assert isinstance(rendered, Rendered)
    return rendered


def plain_text(rendered: Rendered) -> str:
    return str.__getitem__(rendered.text, slice(None))


@pytest.fixture(params=[False, True], ids=["BYTE", "BPE2"])
def merges_newlines(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("name", templates.ALL)
def test_ids_are_the_tokenizers_own(name: str, merges_newlines: bool) -> None:
    tokenizer = byte_tokenizer(templates.ALL[name], merges_newlines)
    renderer, drawn = Renderer(tokenizer), random.Random(name)
    for _ in range(25):
        rendered = render(renderer, random_chat(drawn, WORDS))
        assert rendered.input_ids == tokenizer(plain_text(rendered), add_special_tokens=False)["input_ids"]
        assert rendered.special_texts == ()


@pytest.mark.parametrize("name", templates.ALL)
def test_loss_lies_in_answers_and_their_ends(name: str) -> None:
    tokenizer = byte_tokenizer(templates.ALL[name])
    renderer, drawn = Renderer(tokenizer), random.Random(name)
    for _ in range(25):
        messages = random_chat(drawn, WORDS + SPECIALS)
        rendered = render(renderer, messages)
        assert rendered.segments[0].start == 0
        assert rendered.segments[-1].stop == len(rendered.text)
        assert all(a.stop == b.start for a, b in zip(rendered.segments, rendered.segments[1:], strict=False))
        for token, label in enumerate(rendered.labels):
            segment = rendered.segment_of(token)
            if label >= 0:
                assert segment.turn is not None
                assert messages[segment.turn]["role"] == "assistant"
                assert messages[segment.turn]["content"].strip()
                assert segment.why in (Why.ANSWER, Why.REASONING, Why.WRAPPING, Why.TURN_END)


@pytest.mark.parametrize("name", ["chatml", "default_system"])
def test_the_trained_tokens_read_as_the_answers(name: str, merges_newlines: bool) -> None:
    tokenizer = byte_tokenizer(templates.ALL[name], merges_newlines)
    renderer, drawn = Renderer(tokenizer), random.Random(name)
    for _ in range(25):
        messages = random_chat(drawn, [word for word in WORDS if not word.startswith("\n")] + SPECIALS)
        rendered = render(renderer, messages)
        answers = [turn["content"] for turn in messages if turn["role"] == "assistant" and turn["content"].strip()]
        trained = tokenizer.decode([label for label in rendered.labels if label >= 0])
        assert trained == "".join(answer + "<|im_end|>" for answer in answers)


@pytest.mark.parametrize("name", templates.ALL)
def test_the_data_writes_no_special_token(name: str) -> None:
    tokenizer = byte_tokenizer(templates.ALL[name])
    renderer, drawn = Renderer(tokenizer), random.Random(name)
    special_ids = set(tokenizer.convert_tokens_to_ids(SPECIALS))
    for _ in range(25):
        messages = random_chat(drawn, [*SPECIALS, "<|im", "_end|>", "a", "\n"])
        rendered = render(renderer, messages)
        harmless = [{**turn, "content": turn["content"].replace("<|", "<:")} for turn in messages]
        expected = [token_id for token_id in render(renderer, harmless).input_ids if token_id in special_ids]
        assert [token_id for token_id in rendered.input_ids if token_id in special_ids] == expected
        assert tokenizer.decode(rendered.input_ids) == plain_text(rendered)
