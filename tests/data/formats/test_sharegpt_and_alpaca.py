"""ShareGPT, Alpaca and questions with answers as the chats that they mean."""

from __future__ import annotations

from typing import Any

import pytest

from engine.data.conversation import Conversation
from tests.data.conftest import Prepare, chat
from tests.data.formats.conftest import parsed, refusal, said, turns_of

TALK = [("system", "s"), ("user", "a"), ("assistant", "b"), ("tool", "c"), ("assistant", "d")]


def test_roles_of_sharegpt() -> None:
    talk = [("system", "s"), ("human", "a"), ("gpt", "b"), ("observation", "c"), ("assistant", "d")]
    assert said({"conversations": [{"from": role, "value": text} for role, text in talk]}) == TALK


@pytest.mark.parametrize("key", ["messages", "conversations"])
def test_either_spelling_under_either_name(key: str) -> None:
    assert said({key: [{"role": role, "content": text} for role, text in TALK]}) == TALK
    assert said({key: [{"from": role, "value": text} for role, text in TALK]}) == TALK
    assert parsed({key: chat("a", "b")}).kind == key


def test_the_rows_system_prompt_comes_first() -> None:
    row = {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}], "system": "s"}
    assert said(row) == [("system", "s"), ("user", "a"), ("assistant", "b")]


def test_a_refusal_counts_turns_as_the_chat_does() -> None:
    bad_row = refusal(
        {"conversations": [{"from": "human", "value": "a"}, {"from": "narrator", "value": "b"}], "system": "s"}
    )
    assert (bad_row.code, bad_row.turn) == ("UNKNOWN_ROLE", 3)
    assert "found the role 'narrator'; allowed are" in bad_row.reason


def test_weights_of_sharegpt_count() -> None:
    turns = turns_of({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b", "weight": 0}]})
    assert [turn.trained for turn in turns] == [True, False]


def test_alpaca_with_empty_input_and_a_system_column(prepare_rows: Prepare) -> None:
    row = {"instruction": "Translate to French: good day", "input": "", "output": "Bonjour", "system": "Be brief."}
    prepared = prepare_rows(row)
    (sample,) = prepared.data.train
    text = prepared.tokenizer.decode(sample.input_ids)
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>")
    assert "good day<|im_end|>" in text
    assert (len(sample), sample.loss_tokens) == (76, 8)


@pytest.mark.parametrize(
    ("row", "talk"),
    [
        ({"instruction": "a", "input": "b", "output": "c"}, [("user", "a\nb"), ("assistant", "c")]),
        ({"instruction": "a", "output": "c"}, [("user", "a"), ("assistant", "c")]),
        ({"instruction": "a", "input": None, "output": "c"}, [("user", "a"), ("assistant", "c")]),
        ({"instruction": "a", "input": " \n", "output": "c"}, [("user", "a"), ("assistant", "c")]),
        ({"instruction": "", "input": "b", "output": "c"}, [("user", "b"), ("assistant", "c")]),
        ({"instruction": "a", "context": "b", "response": "c"}, [("user", "a\nb"), ("assistant", "c")]),
        ({"instruction": "a", "output": None}, [("user", "a"), ("assistant", "")]),
        (
            {"instruction": "c", "output": "d", "history": [["a", "b"]]},
            [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")],
        ),
        ({"instruction": "a", "output": "b", "history": []}, [("user", "a"), ("assistant", "b")]),
        ({"question": "a", "answer": "b"}, [("user", "a"), ("assistant", "b")]),
        ({"query": "a", "response": "b"}, [("user", "a"), ("assistant", "b")]),
        (
            {"system_prompt": "s", "question": "a", "response": "b"},
            [("system", "s"), ("user", "a"), ("assistant", "b")],
        ),
    ],
)
def test_rows_of_one_question(row: dict[str, Any], talk: list[tuple[str, str]]) -> None:
    assert said(row) == talk
    example = parsed(row)
    assert isinstance(example, Conversation)
    assert all(turn.trained for turn in example.turns)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"instruction": 1, "output": "b"}, "instruction must be a string, found a number"),
        ({"instruction": "a", "output": ["b"]}, "output must be a string, found a list"),
        ({"instruction": "a", "output": "b", "history": "x"}, "history must be a list"),
        ({"instruction": "a", "output": "b", "history": [["a"]]}, "must be a list of two"),
        ({"instruction": "a", "output": "b", "history": [[1, "b"]]}, "content must be a string, found a number"),
        ({"instruction": "a", "output": "b", "system": 3}, "system must be a string, found a number"),
        ({"question": "a", "answer": 4}, "answer must be a string, found a number"),
        ({"question": "a", "context": "page", "answer": "b"}, "write the row as 'messages'"),
        ({"question": "a", "choices": ["b", "c"], "answer": "b"}, "a question with 'choices' beside it"),
    ],
)
def test_rows_of_one_question_that_break_the_rules(row: dict[str, Any], reason: str) -> None:
    assert reason in refusal(row).reason
