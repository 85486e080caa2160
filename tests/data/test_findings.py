"""Findings about the text of chats."""

from __future__ import annotations

import pytest

from engine.data.audit.hidden import hidden_characters
from tests.data import templates
from tests.data.conftest import Prepare, byte_tokenizer, chat

HIDDEN = "a\u200bb\ufeffc\u00add\u00a0e\n\n f"


def test_characters_that_cannot_be_seen_are_counted(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("x", HIDDEN))
    assert prepared.codes["HIDDEN_CHARACTERS"] == 4
    assert "4 characters" in prepared.flag("HIDDEN_CHARACTERS")
    assert "U+200B, U+FEFF, U+00AD, U+00A0" in prepared.flag("HIDDEN_CHARACTERS")
    assert len(byte_tokenizer()(HIDDEN)["input_ids"]) == 19


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("plain, with\ttabs\nand\r\nlines é 漢", 0),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", 0),  # a family: the joiners are part of the picture
        ("नमस्\u200dते", 0),
        ("a\u200db", 1),
        ("\u202etxt\u202c", 2),
        ("\x00\x1b[31m\x7f", 3),
        ("\U000e0041", 1),
        ("\u2028", 1),
    ],
)
def test_what_counts_as_hidden(text: str, count: int) -> None:
    assert hidden_characters([text]).total() == count


def test_one_sign_of_several_tokens_is_not_broken_text(prepare_rows: Prepare) -> None:
    prepared = prepare_rows(chat("x", "\U0001f600"))
    assert prepared.data.train[0].loss_tokens == 5
    assert prepared.codes == {}


def test_results_of_two_tools_are_no_odd_order(prepare_rows: Prepare) -> None:
    calls = [{"type": "function", "function": {"name": name, "arguments": {}}} for name in "ab"]
    results = [{"role": "tool", "content": text} for text in ("1", "2")]
    turns = [*chat("x"), {"role": "assistant", "content": "", "tool_calls": calls}, *results, chat("x", "y")[1]]
    assert "SAME_ROLE_TWICE" not in prepare_rows(turns).codes


def test_reasoning_under_its_key_that_is_dropped_is_counted(prepare_rows: Prepare) -> None:
    messages = chat("1?", "1", "2?", "2")
    messages[1]["reasoning_content"] = "so it is"
    prepared = prepare_rows(messages, template=templates.THINK)
    assert "turn 2: the template drops 8 characters of reasoning" in prepared.flag("REASONING_DROPPED")


def test_a_turn_of_weight_zero_is_not_changed_text(prepare_rows: Prepare) -> None:
    messages = chat("1?", "<think>a</think>1", "2?", "2")
    messages[1]["weight"] = 0
    assert "TEXT_CHANGED" not in prepare_rows(messages[:2] + chat("2?", "2"), template=templates.CHATML).codes


def test_a_tokenizer_that_splits_special_tokens_is_named_and_not_followed(prepare_rows: Prepare) -> None:
    tokenizer = byte_tokenizer()
    usual = prepare_rows(chat("a", "b"), tokenizer=tokenizer)
    tokenizer.split_special_tokens = tokenizer.backend_tokenizer.encode_special_tokens = True  # as its config may say
    split = prepare_rows(chat("a", "b"), tokenizer=tokenizer)
    assert split.data.train[0].input_ids.tolist() == usual.data.train[0].input_ids.tolist()
    assert split.trained_text() == "b<|im_end|>"
    assert "SPECIAL_TOKENS_SPLIT" in split.codes
    assert "SPECIAL_TOKENS_SPLIT" not in usual.codes
