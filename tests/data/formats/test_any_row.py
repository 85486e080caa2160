"""One conversation in every format that can express it, and rows of arbitrary JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.data.conversation import Conversation, Document, TokenRow
from engine.data.errors import BadRowError
from engine.data.formats import parse_row
from engine.data.formats.turns import ROLES
from engine.data.sources.rows import RawRow
from tests.data.formats.conftest import turns_of

Talk = list[tuple[str, str]]
Row = dict[str, Any]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SOME_TEXT = TEXTS.filter(str.strip)
QUESTION_AND_ANSWER = st.tuples(SOME_TEXT, TEXTS).map(lambda pair: [("user", pair[0]), ("assistant", pair[1])])
TALKS = st.tuples(
    st.one_of(st.just([]), SOME_TEXT.map(lambda text: [("system", text)])),
    st.lists(QUESTION_AND_ANSWER, min_size=1, max_size=4),
).map(lambda parts: [*parts[0], *(turn for pair in parts[1] for turn in pair)])


def _messages(talk: Talk) -> list[Row]:
    return [{"role": role, "content": text} for role, text in talk]


def _system(talk: Talk) -> Row:
    return {"system": talk[0][1]} if talk[0][0] == "system" else {}


def _spoken(talk: Talk) -> Talk:
    return talk[1:] if talk[0][0] == "system" else talk


def _openai(talk: Talk) -> Row:
    return {"messages": _messages(talk)}


def _openai_with_a_system_key(talk: Talk) -> Row:
    return {"messages": _messages(_spoken(talk)), **_system(talk)}


def _sharegpt(talk: Talk) -> Row:
    names = {"user": "human", "assistant": "gpt", "system": "system"}
    return {"conversations": [{"from": names[role], "value": text} for role, text in talk]}


def _alpaca(talk: Talk) -> Row:
    *earlier, question, answer = (text for _, text in _spoken(talk))
    history = [list(pair) for pair in zip(earlier[::2], earlier[1::2], strict=True)]
    return {"instruction": question, "input": "", "output": answer, "history": history, **_system(talk)}


def _prompt_completion(talk: Talk) -> Row:
    return {"prompt": _messages(talk[:-1]), "completion": _messages(talk[-1:])}


def _question_answer(talk: Talk) -> Row:
    return {"question": talk[-2][1], "answer": talk[-1][1], **_system(talk)}


@pytest.mark.parametrize("write", [_openai, _openai_with_a_system_key, _sharegpt, _alpaca])
@given(talk=TALKS)
@settings(max_examples=25, deadline=None)
def test_a_conversation_means_the_same_in_every_format(write: Callable[[Talk], Row], talk: Talk) -> None:
    turns = turns_of(write(talk))
    assert [(turn.role, turn.content) for turn in turns] == talk
    assert turns == turns_of(_openai(talk))


@given(talk=TALKS)
@settings(max_examples=25, deadline=None)
def test_a_prompt_of_messages_is_the_same_but_for_the_loss(talk: Talk) -> None:
    turns = turns_of(_prompt_completion(talk))
    assert [(turn.role, turn.message) for turn in turns] == [
        (turn.role, turn.message) for turn in turns_of(_openai(talk))
    ]
    assert [turn.trained for turn in turns if turn.is_answer] == [False] * (len(_spoken(talk)) // 2 - 1) + [True]


@given(pair=QUESTION_AND_ANSWER, system=st.one_of(st.none(), SOME_TEXT))
@settings(max_examples=25, deadline=None)
def test_a_question_and_its_answer_are_a_chat(pair: Talk, system: str | None) -> None:
    talk = [*([] if system is None else [("system", system)]), *pair]
    assert turns_of(_question_answer(talk)) == turns_of(_openai(talk))


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
JSON = st.recursive(
    st.one_of(SCALARS, st.sampled_from(sorted(ROLES))),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=6,
)
OF_MESSAGES = "role content from value weight reasoning thinking name id tool_call_id type text".split()  # noqa: SIM905
OF_CALLS = "tool_calls function_call function name arguments parameters tools functions".split()  # noqa: SIM905
OF_ROWS = (  # noqa: SIM905
    "messages conversations instruction input context output history system system_prompt prompt completion label "
    "question answer query response input_ids labels loss_mask attention_mask chosen rejected"
).split()
KNOWN_KEYS = st.sampled_from(OF_MESSAGES + OF_CALLS + OF_ROWS)
ROWS = st.recursive(
    JSON,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KNOWN_KEYS, inner, max_size=6)),
    max_leaves=12,
)


@given(row=st.dictionaries(st.one_of(KNOWN_KEYS, st.text(max_size=4)), ROWS, max_size=4), is_columnar=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_is_an_example_or_a_bad_row(row: Row, is_columnar: bool) -> None:
    try:
        example = parse_row(RawRow(7, "any.jsonl", 8, row, is_columnar))
    except BadRowError as error:
        assert (error.bad_row.row, error.bad_row.file, error.bad_row.line) == (7, "any.jsonl", 8)
        assert error.bad_row.reason
        return
    assert isinstance(example, Conversation | Document | TokenRow)
    assert (example.row, example.file, example.line) == (7, "any.jsonl", 8)
    if isinstance(example, Conversation):
        assert example.turns
        for turn in example.turns:
            json.dumps([turn.message, example.tools], allow_nan=False).encode("utf-8")
    if isinstance(example, TokenRow) and example.has_loss is not None:
        assert len(example.has_loss) == len(example.input_ids)


@pytest.mark.parametrize("key", ["messages", "tools", "arguments", "input_ids", "history"])
@pytest.mark.parametrize("is_columnar", [False, True])
def test_json_as_deep_as_it_gets(key: str, is_columnar: bool) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    call = {"role": "assistant", key: deep, "tool_calls": [{"name": "f", key: deep}]}
    for row in ({key: deep}, {"messages": [call]}, {"text": "a", key: deep}):
        with contextlib.suppress(BadRowError):
            parse_row(RawRow(0, "deep.jsonl", 1, row, is_columnar))
