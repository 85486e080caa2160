"""Chats in OpenAI's form: content, roles, reasoning, weights."""

from __future__ import annotations

from typing import Any

import pytest

from engine.data import DataError
from tests.data.conftest import Prepare, chat
from tests.data.formats.conftest import asked, refusal, said, turns_of


def test_two_users_and_two_answers_in_a_row_keep_their_order(prepare_rows: Prepare) -> None:
    roles = ("user", "user", "assistant", "assistant")
    prepared = prepare_rows([{"role": role, "content": text} for role, text in zip(roles, "abcd", strict=True)])
    assert (len(prepared.data.train[0]), prepared.data.train[0].loss_tokens) == (46, 4)
    assert prepared.trained_text() == "c<|im_end|>|d<|im_end|>"
    assert "same role twice in a row" in prepared.flag("SAME_ROLE_TWICE")


@pytest.mark.parametrize("content", ["", "\n\n", None, []])
def test_an_empty_answer_is_no_bad_row(prepare_rows: Prepare, content: Any) -> None:
    prepared = prepare_rows(chat("a", "b"), [*chat("Hi"), {"role": "assistant", "content": content}])
    assert "line 2, turn 2" in prepared.flag("EMPTY_ANSWER")
    assert prepared.data.report.rows_dropped == 1


def test_a_chat_that_ends_with_user_turns(prepare_rows: Prepare) -> None:
    prepared = prepare_rows([*chat("Hi", "Hello", "More"), *chat("Please")])
    assert (len(prepared.data.train[0]), prepared.trained_text()) == (54, "Hello<|im_end|>")
    assert "line 1, turn 3: ends without an answer (turns 3-4)" in prepared.flag("ENDS_WITHOUT_ANSWER")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("tool", "tool"),
        ("function", "tool"),
        ("ipython", "tool"),
        ("developer", "developer"),
        ("model", "assistant"),
        ("human", "user"),
    ],
)
def test_roles_by_other_names(name: str, role: str) -> None:
    assert said(asked({"role": name, "content": "x"}))[1] == (role, "x")


def test_a_tool_may_give_nothing_back() -> None:
    assert said(asked({"role": "tool", "content": None}))[1] == ("tool", "")


def test_content_as_parts_of_text_stays_so() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (_, turn) = turns_of(asked({"role": "assistant", "content": parts}))
    assert turn.message["content"] == parts
    assert turn.content == "ab"


@pytest.mark.parametrize("kind", ["image_url", "image", "input_audio", "tool_use"])
def test_parts_that_are_no_text_are_refused(kind: str) -> None:
    bad_row = refusal(asked({"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": kind}]}))
    assert (bad_row.code, bad_row.turn) == ("NOT_TEXT", 2)
    assert f"{kind!r}; only text can be trained" in bad_row.reason


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_under_a_key_of_its_own(key: str) -> None:
    turns = turns_of(asked({"role": "assistant", "content": "Yes.", key: "It is autumn."}))
    assert turns[1].message == {"content": "Yes.", "reasoning_content": "It is autumn."}


def test_reasoning_is_told_once() -> None:
    answer = {"role": "assistant", "content": "Yes.", "reasoning": "Autumn.", "reasoning_content": "Autumn."}
    assert turns_of(asked(answer))[1].reasoning == "Autumn."
    assert "hold different reasoning" in refusal(asked({**answer, "thinking": "Spring."})).reason
    assert turns_of(asked({**answer, "reasoning": None, "reasoning_content": ""}))[1].message == {"content": "Yes."}


def test_names_and_ids_of_tool_turns_are_kept() -> None:
    turns = turns_of(asked({"role": "tool", "content": "4 mm", "name": "get_rain", "tool_call_id": "c1"}))
    assert turns[1].message == {"content": "4 mm", "name": "get_rain", "tool_call_id": "c1"}


def test_weight_zero_keeps_an_answer_out_of_the_loss(prepare_rows: Prepare) -> None:
    messages = chat("2+2?", "5", "No.", "Sorry, 4")
    messages[1]["weight"], messages[3]["weight"] = 0, 1
    prepared = prepare_rows(messages)
    assert (len(prepared.data.train[0]), prepared.trained_text()) == (58, "Sorry, 4<|im_end|>")


@pytest.mark.parametrize("weight", [0.5, 2, -1, True, "1", [1]])
def test_other_weights_are_refused(weight: Any) -> None:
    bad_row = refusal(asked({"role": "assistant", "content": "4", "weight": weight}))
    assert (bad_row.code, bad_row.turn) == ("BAD_WEIGHT", 2)
    assert "must be 0 or 1" in bad_row.reason


def test_a_system_prompt_of_the_row_comes_first() -> None:
    row = {"messages": chat("a", "b"), "system": "Be brief."}
    assert said(row) == [("system", "Be brief."), ("user", "a"), ("assistant", "b")]
    assert said({"messages": chat("a", "b", system="Be brief."), "system": "Be brief."}) == said(row)
    assert said({"messages": chat("a", "b"), "system": ""}) == said(row)[1:]


def test_turns_count_as_they_stand_in_a_row_that_tells_its_system_prompt_twice() -> None:
    two = refusal({"messages": chat("a", "b", system="Be long."), "system": "Be brief."})
    assert (two.code, two.turn) == ("TWO_SYSTEM_PROMPTS", 1)
    same = {"messages": [*chat("a", system="Be brief."), {"role": "critic", "content": "c"}], "system": "Be brief."}
    assert (refusal(same).code, refusal(same).turn) == ("UNKNOWN_ROLE", 3)


def test_a_role_in_capitals_is_told_how_it_is_written() -> None:
    bad_row = refusal({"messages": [{"role": "User", "content": "a"}, {"role": "assistant", "content": "b"}]})
    assert bad_row.reason == "found the role 'User'; did you mean 'user'?"


@pytest.mark.parametrize("key", ["train", "training", "loss"])
def test_the_switches_of_other_trainers_are_weights(key: str, prepare_rows: Prepare) -> None:
    messages = chat("2+2?", "5", "No.", "Sorry, 4")
    messages[1][key], messages[3][key] = False, True
    assert prepare_rows(messages).trained_text() == "Sorry, 4<|im_end|>"
    assert refusal(asked({"role": "assistant", "content": "4", key: "no"})).code == "BAD_WEIGHT"
    contradicting = refusal(asked({"role": "assistant", "content": "4", key: False, "weight": 1}))
    assert "weight and" in contradicting.reason


def test_a_weight_is_told_as_json_writes_it() -> None:
    assert refusal(asked({"role": "assistant", "content": "4", "weight": True})).reason.endswith("found true")


def test_odd_characters_are_text_like_any_other() -> None:
    text = "a\x00b\x1b[31m\u200b\u202e\ufeff\U0010fffd"
    assert said(asked({"role": "assistant", "content": text}))[1] == ("assistant", text)


@pytest.mark.parametrize(
    ("messages", "turn", "reason"),
    [
        ("x", None, "'messages' must be a list of messages, found a string"),
        (None, None, "'messages' must be a list of messages, found nothing (null)"),
        ([], None, "'messages' is an empty list"),
        (["x"], 1, "a message must be an object with role and content, found a string"),
        ([{"content": "x"}], 1, "found no role; allowed are system, developer, user"),
        ([{"role": "wizard", "content": "x"}], 1, "found the role 'wizard'; allowed are system, developer, user"),
        ([{"role": ["user"], "content": "x"}], 1, "found the role ['user']; allowed"),
        ([{"role": "user", "content": None}], 1, "content must be a string, found nothing (null)"),
        ([{"role": "user"}], 1, "content must be a string, found nothing (null)"),
        ([{"role": "user", "content": 4}], 1, "content must be a string, found a number"),
        ([{"role": "user", "content": {"text": "x"}}], 1, "content must be a string, found an object"),
        ([{"role": "user", "content": []}], 1, "content is an empty list of parts"),
        ([{"role": "user", "content": ["x"]}], 1, "a part of the content must be an object with type and text"),
        ([{"role": "user", "content": [{"type": "text"}]}], 1, "the text of a part must be a string, found nothing"),
        ([*chat("a"), {"role": "assistant", "content": "\ud800"}], 2, "half of a surrogate pair (U+D800)"),
        ([*chat("a"), {"role": "assistant", "content": "x", "thinking": 7}], 2, "thinking must be a string"),
        ([{"role": "user", "content": "x", "reasoning": "y"}], 1, "has reasoning, which only an answer can have"),
        ([{"role": "user", "content": "x", "name": 3}], 1, "name must be a string, found a number"),
    ],
)
def test_messages_that_break_the_rules(messages: Any, turn: int | None, reason: str) -> None:
    bad_row = refusal({"messages": messages})
    assert reason in bad_row.reason
    assert bad_row.turn == turn


def test_a_refusal_names_file_line_and_turn(prepare_rows: Prepare) -> None:
    with pytest.raises(DataError, match=r"chats\.jsonl, line 2, turn 1: found the role 'wizard'"):
        prepare_rows(chat("a", "b"), [{"role": "wizard", "content": "x"}])
