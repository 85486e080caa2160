"""Plain text, with and without a prompt, from the file to tokens and loss."""

from __future__ import annotations

from typing import Any

import pytest

from engine.data import DataError
from engine.data.conversation import Document, Part
from tests.data.conftest import Prepare, byte_tokenizer, chat
from tests.data.formats.conftest import ids, parsed, refusal, rendered, said, turns_of

SKY = chat("What colour is the sky?", "Blue.")


def test_two_rows_of_text_have_four_loss_terms(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"text": "ab"}, {"text": "cd"})
    assert [sample.input_ids.tolist() for sample in prepared.data.train] == [ids("ab<|eos|>"), ids("cd<|eos|>")]
    assert [prepared.trained_text(number) for number in (0, 1)] == ["b<|eos|>", "d<|eos|>"]
    assert (prepared.data.report.tokens, prepared.data.report.loss_tokens) == (6, 4)


def test_a_prompt_has_no_loss_and_a_completion_has(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"prompt": "2+2=", "completion": "4"})
    assert prepared.tokenizer.decode(prepared.data.train[0].input_ids) == "2+2=4<|eos|>"
    assert prepared.trained_text() == "4<|eos|>"


def test_a_token_across_the_border_follows_its_first_byte() -> None:
    one = rendered({"prompt": "a\n", "completion": "\nb"}, byte_tokenizer(newline_merge=True))
    assert len(one.input_ids) == 4
    assert one.has_loss.tolist() == [False, False, True, True]


def test_a_token_across_the_border_is_named(prepare_rows: Prepare) -> None:
    merging = byte_tokenizer(newline_merge=True)
    prepared = prepare_rows({"prompt": "a\n", "completion": "\nb"}, tokenizer=merging)
    assert "'\\n\\n' begins in the prompt and ends in the completion" in prepared.flag("TOKEN_ACROSS_BORDER")
    apart = prepare_rows({"prompt": "aa", "completion": "\n\nb"}, {"prompt": "", "completion": "b"}, tokenizer=merging)
    assert apart.codes == {}
    merging.eos_token = None
    assert "TOKEN_ACROSS_BORDER" in prepare_rows({"prompt": "a\n", "completion": "\nb"}, tokenizer=merging).codes


def test_hidden_characters_of_documents_are_counted(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"text": "a\u200bb\u00adc\ufeff"})
    assert prepared.codes == {"HIDDEN_CHARACTERS": 3}


def test_the_tokenizers_bos_comes_once_and_without_loss() -> None:
    one = rendered({"text": "ab"}, byte_tokenizer(adds_bos=True))
    assert one.input_ids == ids("<|bos|>ab<|eos|>")
    assert one.has_loss.tolist() == [False, True, True, True]
    assert [str(one.segment_of(number).why) for number in range(4)] == ["template", "text", "text", "turn_end"]


def test_a_tokenizer_without_an_end_token_adds_none(prepare_rows: Prepare) -> None:
    tokenizer = byte_tokenizer()
    tokenizer.eos_token = None
    prepared = prepare_rows({"text": "ab"}, tokenizer=tokenizer)
    assert prepared.data.train[0].input_ids.tolist() == ids("ab")
    assert "the tokenizer has no end token" in prepared.flag("NO_EOS")


@pytest.mark.parametrize("text", ["say <|eos|> now", "<|im_start|>user\nHi<|im_end|>", "<|bos|>"])
def test_special_text_in_a_document_stays_text(prepare_rows: Prepare, text: str) -> None:
    prepared = prepare_rows({"text": f"A page: {text}."})
    tokens = prepared.data.train[0].input_ids.tolist()
    assert len(tokens) == len(f"A page: {text}.") + 1
    assert prepared.tokenizer.decode(tokens) == f"A page: {text}.<|eos|>"
    assert "give chats as 'messages'" in prepared.flag("SPECIAL_TEXT_IN_DATA")


def test_an_end_token_that_the_data_writes_is_named(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"text": "ab<|eos|>"})
    assert prepared.data.train[0].input_ids.tolist().count(prepared.tokenizer.eos_token_id) == 1
    assert "leave it out of the data" in prepared.flag("SPECIAL_TEXT_IN_DATA")


@pytest.mark.parametrize("row", [{"text": ""}, {"text": " \n"}, {"text": None}, {"prompt": "a", "completion": ""}])
@pytest.mark.parametrize("adds_bos", [False, True])
def test_a_document_that_says_nothing_is_left_out(prepare_rows: Prepare, row: dict[str, Any], adds_bos: bool) -> None:
    prepared = prepare_rows({"text": "ab"}, row, tokenizer=byte_tokenizer(adds_bos=adds_bos))
    assert [sample.row for sample in prepared.data.train] == [0]
    assert "line 2" in prepared.flag("EMPTY_ANSWER")


def test_the_parts_of_documents() -> None:
    assert parsed({"prompt": "a", "completion": "b"}) == Document(
        0, "rows.jsonl", 1, (Part("prompt", "a"), Part("completion", "b")), "prompt_completion"
    )
    assert parsed({"text": "a"}) == Document(0, "rows.jsonl", 1, (Part("text", "a"),), "text")


def test_a_prompt_in_messages_gives_the_tokens_of_the_chat(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"messages": SKY}, {"prompt": SKY[:1], "completion": SKY[1:]})
    as_chat, as_pair = prepared.data.train
    assert as_chat.input_ids.tolist() == as_pair.input_ids.tolist()
    assert (len(as_pair), as_pair.loss_tokens) == (49, 6)
    assert prepared.trained_text(1) == "Blue.<|im_end|>"


def test_answers_inside_a_prompt_are_not_trained(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"prompt": chat("a", "b", "c", system="s"), "completion": chat("", "d", "e", "f")[1:]})
    assert prepared.trained_text() == "d<|im_end|>|f<|im_end|>"


def test_a_string_beside_messages_is_one_turn() -> None:
    assert said({"prompt": chat("a"), "completion": "b"}) == [("user", "a"), ("assistant", "b")]
    assert said({"prompt": "a", "completion": chat("", "b")[1:]}) == [("user", "a"), ("assistant", "b")]
    turns = turns_of({"prompt": [], "completion": chat("a", "b"), "system": "s"})
    assert [(turn.role, turn.trained) for turn in turns] == [("system", True), ("user", True), ("assistant", True)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"prompt": "a", "completion": 4}, "completion must be a string, found a number"),
        ({"prompt": {"a": 1}, "completion": chat("a", "b")}, "'prompt' must be a string or a list of messages"),
        ({"prompt": chat("a"), "completion": []}, "'completion' is an empty list"),
        ({"prompt": "a", "completion": "b", "system": "s"}, "without a system prompt"),
        ({"prompt": "a", "completion": "\ud800"}, "half of a surrogate pair"),
        ({"text": ["a"]}, "text must be a string, found a list"),
        ({"text": "a\udfff"}, "half of a surrogate pair"),
    ],
)
def test_plain_rows_that_break_the_rules(row: dict[str, Any], reason: str) -> None:
    assert reason in refusal(row).reason


def test_plain_rows_need_no_chat_template(prepare_rows: Prepare) -> None:
    bare = byte_tokenizer(template=None)
    prepared = prepare_rows({"text": "ab"}, {"input_ids": [97, 98]}, {"prompt": "a", "completion": "b"}, tokenizer=bare)
    assert [sample.loss_tokens for sample in prepared.data.train] == [2, 1, 2]
    with pytest.raises(DataError, match="has no chat template"):
        prepare_rows({"text": "ab"}, chat("a", "b"), tokenizer=bare)
