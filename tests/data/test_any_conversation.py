"""Any conversation, with tokenizers of every kind: what is trained is an answer's, and ids are the tokenizer's own."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from engine.data.conversation import Conversation, Turn
from engine.data.errors import BadRow
from engine.data.masking.reasons import Why
from engine.data.masking.rules import MaskOptions
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from tests.data import templates
from tests.data.conftest import SPECIALS, byte_tokenizer

CORPUS = [
    "the assistant answers the user\n\n",
    "<think> so it is </think>",
    "system user tool call ### Answer: yes no",
] * 9
TEMPLATES = ["chatml", "think", "opened_think", "trim", "next", "xml_calls", "channels", "parts", "literal", "marked"]
TOKENIZERS = ["bytes", "two newlines", "trained", "metaspace", "replaced spaces"]


def wrapped(backend: Tokenizer) -> PreTrainedTokenizerFast:
    backend.add_special_tokens([AddedToken(special, special=True, normalized=False) for special in SPECIALS])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|bos|>", eos_token="<|eos|>", pad_token="<|pad|>"
    )


def trained(backend: Tokenizer, alphabet: list[str]) -> Tokenizer:
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, special_tokens=["<unk>"])
    backend.train_from_iterator(CORPUS, trainer)
    return backend


def trained_bytes() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return wrapped(trained(backend, pre_tokenizers.ByteLevel.alphabet()))


def metaspace() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    return wrapped(trained(backend, list("abcdefghijklmnopqrstuvwxyz<>/#:\n")))


def replaced_spaces() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return wrapped(trained(backend, list("abcdefghijklmnopqrstuvwxyz<>/#:▁\n")))


MAKERS = {
    "bytes": byte_tokenizer,
    "two newlines": lambda: byte_tokenizer(newline_merge=True),
    "trained": trained_bytes,
    "metaspace": metaspace,
    "replaced spaces": replaced_spaces,
}


@cache
def renderer_of(kind: str, template: str, options: MaskOptions) -> tuple[Renderer, PreTrainedTokenizerFast]:
    tokenizer = MAKERS[kind]()
    tokenizer.chat_template = templates.ALL[template]
    return Renderer(tokenizer, options), tokenizer


PIECES = [
    "yes",
    "no",
    " ",
    "\n",
    "\n\n",
    "é",
    "漢",
    "\U0001f600",
    "\u200b",
    "<think>",
    "</think>",
    "### Assistant:\n",
    "assistant",
]
words = st.lists(st.sampled_from([*PIECES, *SPECIALS, "<|im", "_end|>"]), max_size=6).map("".join)
texts = words | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    function = {
        "name": draw(st.sampled_from(["f", "get rain"])),
        "arguments": draw(st.dictionaries(texts, values, max_size=2)),
    }
    return {"type": "function", "function": function}


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    role = draw(st.sampled_from(["system", "user", "assistant", "assistant", "tool"]))
    message: dict[str, Any] = {"content": draw(texts)}
    if role == "assistant" and draw(st.booleans()):
        message["reasoning_content"] = draw(texts)
    if role == "assistant" and draw(st.integers(0, 3)) == 0:
        message["tool_calls"] = draw(st.lists(calls(), min_size=1, max_size=2))
    return Turn(role, message, trained=draw(st.integers(0, 4)) > 0)  # type: ignore[arg-type]


conversations = st.lists(turns(), min_size=1, max_size=5).map(lambda made: Conversation(0, "any.jsonl", 1, tuple(made)))
options = st.builds(MaskOptions, st.booleans(), st.booleans(), st.booleans())


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(TOKENIZERS), st.sampled_from(TEMPLATES), conversations, options)
def test_what_is_trained_belongs_to_an_answer(
    kind: str, template: str, conversation: Conversation, chosen: MaskOptions
) -> None:
    renderer, tokenizer = renderer_of(kind, template, chosen)
    (rendered,) = renderer.render([conversation])
    if isinstance(rendered, BadRow):
        assert rendered.code in ("SPECIAL_TEXT", "TEMPLATE_REFUSED")
        return
    check_mask(rendered, conversation, chosen)
    plain = str.__getitem__(rendered.text, slice(None))
    if not rendered.special_texts:
        assert list(rendered.input_ids) == tokenizer(plain, add_special_tokens=False)["input_ids"]
    assert all(one <= other for one, other in pairwise(rendered.starts))
    assert all(label in (-100, token) for label, token in zip(rendered.labels, rendered.input_ids, strict=True))


def check_mask(rendered: Rendered, conversation: Conversation, chosen: MaskOptions) -> None:
    borders = [0, *(segment.stop for segment in rendered.segments)]
    assert [segment.start for segment in rendered.segments] == borders[:-1]
    assert borders[-1] == len(rendered.text)
    answers = [number for number, turn in enumerate(conversation.turns) if turn.is_answer]
    for segment in rendered.segments:
        if not segment.loss:
            continue
        assert segment.turn in answers
        turn = conversation.turns[segment.turn]
        assert turn.trained and not turn.is_empty
        assert segment.why in (Why.ANSWER, Why.WRAPPING, Why.TURN_END, Why.REASONING, Why.TEMPLATE_IN_ANSWER)
        assert segment.why is not Why.REASONING or chosen.train_on_reasoning
        assert segment.why is not Why.TEMPLATE_IN_ANSWER or chosen.train_on_template_text
        assert not chosen.last_turn_only or segment.turn == answers[-1]
    assert all(rendered.segment_of(token).loss for token, label in enumerate(rendered.labels) if label >= 0)


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(conversations)
def test_everything_that_an_answer_says_is_trained(kind: str, conversation: Conversation) -> None:
    renderer, _ = renderer_of(kind, "chatml", MaskOptions())
    (rendered,) = renderer.render([conversation])
    if isinstance(rendered, BadRow):
        assert rendered.code == "SPECIAL_TEXT"
        return
    plain = str.__getitem__(rendered.text, slice(None))
    for number, turn in enumerate(conversation.turns):
        said = "".join(plain[s.start : s.stop] for s in rendered.segments if s.loss and s.turn == number)
        if turn.is_answer and turn.trained and (turn.content.strip() or turn.tool_calls):
            assert said.startswith(turn.content) and said.endswith("<|im_end|>")
            assert said.count("<tool_call>") >= len(turn.tool_calls)
