"""Which format a row is in, and what is said of rows in none."""

from __future__ import annotations

import pytest

from engine.data import DataError
from tests.data.conftest import Prepare, chat
from tests.data.formats.conftest import parsed, refusal, said

PERU = [("user", "Capital of Peru?"), ("assistant", "Lima")]
IN_MESSAGES = {"messages": chat("Capital of Peru?", "Lima")}
IN_CONVERSATIONS = {"conversations": [{"from": "human", "value": "Capital of Peru?"}, {"from": "gpt", "value": "Lima"}]}
IN_ALPACA = {"instruction": "Capital of Peru?", "input": "", "output": "Lima"}


def test_three_formats_in_one_file_give_the_same_tokens(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(
        IN_MESSAGES, IN_CONVERSATIONS, IN_ALPACA, {"body": "Capital of Peru? Lima"}, on_bad_row="skip"
    )
    ids = [sample.input_ids.tolist() for sample in prepared.data.train]
    assert ids[0] == ids[1] == ids[2]
    assert [(len(sample), sample.loss_tokens) for sample in prepared.data.train] == [(41, 5)] * 3
    (bad_row,) = prepared.data.report.bad_rows
    assert (bad_row.code, bad_row.line) == ("UNKNOWN_SCHEMA", 4)
    assert "keys found: 'body'" in bad_row.reason
    assert dict(prepared.data.report.kinds) == {"messages": 1, "conversations": 1, "alpaca": 1, "unknown": 1}


def test_an_unknown_format_stops_with_the_keys_and_the_formats(prepare_rows: Prepare) -> None:
    with pytest.raises(
        DataError, match=r"line 1: .*not known \(keys found: 'body'\).*'messages'.*'instruction'.*'text'"
    ):
        prepare_rows({"body": "Capital of Peru? Lima"})


def test_keys_without_a_value_are_named_as_such() -> None:
    assert "'instruction', 'input' (null)" in refusal({"instruction": "x", "input": None}).reason
    assert "no key at all" in refusal({}).reason


@pytest.mark.parametrize("key", ["chat", "dialogue"])
def test_messages_under_another_key_are_pointed_out(key: str) -> None:
    row = {key: chat("a", "b"), "id": 7}
    assert f"{key!r} looks like messages: name it in data.messages_field" in refusal(row).reason
    assert said(row, messages_field=key) == [("user", "a"), ("assistant", "b")]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({**IN_MESSAGES, "text": "User: Capital of Peru?"}, "messages"),
        ({**IN_MESSAGES, "prompt": "Capital of Peru?", "chosen": [], "rejected": []}, "messages"),
        ({**IN_MESSAGES, "input_ids": [1, 2]}, "messages"),
        ({**IN_ALPACA, "text": "Below is an instruction.", "prompt": "Capital of Peru?"}, "alpaca"),
        ({**IN_ALPACA, "messages": []}, "alpaca"),
        ({**IN_ALPACA, "messages": None, "conversations": None}, "alpaca"),
        ({**IN_CONVERSATIONS, "messages": [], "text": ""}, "conversations"),
        ({"instruction": "", "output": " ", "text": "A page."}, "text"),
        ({"prompt": "x", "completion": None, "text": "A page."}, "text"),
        ({"prompt": "x", "completion": "y", "text": "xy"}, "prompt_completion"),
        ({"question": "x", "answer": "y", "prompt": "z"}, "question_answer"),
        ({"text": "ab", "input_ids": [97, 98], "labels": [-100, 98]}, "tokenized"),
    ],
)
def test_with_the_keys_of_two_formats_the_one_that_says_most_is_taken(row: dict[str, object], kind: str) -> None:
    assert parsed(row).kind == kind


def test_where_all_formats_are_empty_the_first_says_what_is_missing() -> None:
    assert refusal({"messages": [], "text": ""}).code == "EMPTY_CHAT"


@pytest.mark.parametrize(
    "row", [{"prompt": "q", "chosen": "a", "rejected": "b"}, {"prompt": "q", "completion": "a", "label": False}]
)
def test_preference_rows_are_refused_as_what_they_are(row: dict[str, object]) -> None:
    assert refusal(row).code == "PREFERENCE_ROW"
    assert "preference" in refusal(row).reason


def test_a_row_without_the_named_key_is_read_by_another_one_and_named(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"chat": chat("a", "b")}, {"messages": chat("a", "b")}, messages_field="chat")
    assert len(prepared.data.train) == 2
    assert prepared.codes["MESSAGES_FIELD_MISSING"] == 1
    assert "line 2" in prepared.flag("MESSAGES_FIELD_MISSING")
