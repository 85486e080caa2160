"""Plain text and rows of tokens, from the file to tokens and loss."""

from __future__ import annotations

from typing import Any

import pytest

from engine.data import DataError
from engine.data.conversation import Document, Part, TokenRow
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from tests.data import templates
from tests.data.conftest import Prepare, byte_tokenizer, chat
from tests.data.formats.conftest import parsed, refusal, said, turns_of

SKY = chat("What colour is the sky?", "Blue.")


def rendered(row: dict[str, Any], tokenizer: Any = None) -> Rendered:
    (one,) = Renderer(tokenizer or byte_tokenizer(template=None)).render([parsed(row)])
    assert isinstance(one, Rendered)
    return one


def ids(text: str) -> list[int]:
    encoded: list[int] = byte_tokenizer()(text)["input_ids"]
    return encoded


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


def test_the_tokenizers_bos_comes_once_and_without_loss() -> None:
    one = rendered({"text": "ab"}, byte_tokenizer(adds_bos=True))
    assert one.input_ids == ids("<|bos|>ab<|eos|>")
    assert one.has_loss.tolist() == [False, True, True, True]
    assert [str(one.segment_of(number).why) for number in range(4)] == ["template", "text", "text", "turn_end"]


def test_a_tokenizer_without_an_end_token_adds_none() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.eos_token = None
    assert rendered({"text": "ab"}, tokenizer).input_ids == ids("ab")


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


def test_tokens_without_labels_are_all_trained_but_the_first(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"input_ids": ids("abc<|eos|>")})
    assert prepared.data.train[0].input_ids.tolist() == ids("abc<|eos|>")
    assert prepared.trained_text() == "bc<|eos|>"


@pytest.mark.parametrize(
    "given",
    [
        {"labels": [-100, -100, 99, 100]},
        {"loss_mask": [0, 0, 1, 1]},
        {"assistant_masks": [False, False, True, True]},
        {"completion_mask": [0, 0, 1, 1], "labels": [97, 98, 99, 100]},
        {"labels": [-100, -100, 99, 100], "attention_mask": [1, 1, 1, 1], "position_ids": [0, 1, 2, 3]},
    ],
)
def test_a_row_of_tokens_says_where_its_loss_is(given: dict[str, Any]) -> None:
    assert parsed({"input_ids": [97, 98, 99, 100], **given}) == TokenRow(
        0, "rows.jsonl", 1, (97, 98, 99, 100), (False, False, True, True)
    )


@pytest.mark.parametrize("mask", [[0, 0, 1, 1, 0], [0, 0, 1, 1, 0]])
def test_padding_is_left_out(mask: list[int]) -> None:
    row = {"input_ids": [0, 0, 97, 98, 0], "labels": [-100, -100, -100, 98, -100], "attention_mask": mask}
    assert parsed(row) == TokenRow(0, "rows.jsonl", 1, (97, 98), (False, True))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"input_ids": []}, "input_ids is an empty list"),
        ({"input_ids": "ab"}, "input_ids must be a list of whole numbers, found a string"),
        ({"input_ids": [1, 2.5]}, "must hold whole numbers only, found a number (2.5)"),
        ({"input_ids": [1, True]}, "must hold whole numbers only, found a boolean"),
        ({"input_ids": [1, None]}, "must hold whole numbers only, found nothing"),
        ({"input_ids": [[1, 2]]}, "must hold whole numbers only, found a list"),
        ({"input_ids": [1, -2]}, "ids of tokens are not negative"),
        ({"input_ids": [1, 2], "labels": [2]}, "labels has 1 entries, input_ids has 2"),
        ({"input_ids": [1, 2], "labels": [2, -100]}, "labels[0] is 2, but the token there is 1; a label is the id of"),
        ({"input_ids": [1, 2], "labels": [1, -1]}, "labels[1] is -1"),
        ({"input_ids": [1, 2], "loss_mask": [1, 2]}, "loss_mask must hold zeros and ones only, found 2"),
        ({"input_ids": [1, 2], "loss_mask": [1, 0.5]}, "loss_mask must hold zeros and ones only, found 0.5"),
        ({"input_ids": [1, 2, 3], "attention_mask": [1, 0, 1]}, "attention_mask has a hole"),
        ({"input_ids": [1, 2], "attention_mask": [0, 0]}, "attention_mask leaves no token over"),
    ],
)
def test_token_rows_that_break_the_rules(row: dict[str, Any], reason: str) -> None:
    assert (refusal(row).code, reason in refusal(row).reason) == ("BAD_TOKENS", True)


@pytest.mark.parametrize("token_id", [269, 100_000, 2**31, 2**64])
def test_ids_outside_of_the_vocabulary_are_refused(prepare_rows: Prepare, token_id: int) -> None:
    with pytest.raises(DataError, match=rf"line 1: input_ids\[1\] is {token_id}, which the tokenizer does not have"):
        prepare_rows({"input_ids": [97, token_id]})


def test_the_text_of_tokens_that_are_part_of_a_character() -> None:
    one = rendered({"input_ids": ids("a\U0001f600é"), "labels": [-100, -100, *ids("a\U0001f600é")[2:]]})
    assert str.__getitem__(one.text, slice(None)) == "a\U0001f600é"
    assert one.starts == [0, 1, 1, 1, 1, 2, 2]
    assert one.has_loss.tolist() == [False, False, True, True, True, True, True]
    torn = rendered({"input_ids": ids("a\U0001f600b")[2:]})
    assert str.__getitem__(torn.text, slice(None)) == "\ufffd\ufffd\ufffdb"
    assert torn.starts == [0, 1, 2, 3]
    assert torn.token_stops == [4]


def tokenized(prepare_rows: Prepare, template: str = templates.CHATML, **given: Any) -> tuple[list[int], list[int]]:
    (sample,) = prepare_rows(SKY, template=template).data.train
    return sample.input_ids.tolist(), sample.labels.tolist()


def test_a_trained_prompt_is_named_with_its_text(prepare_rows: Prepare) -> None:
    tokens, _ = tokenized(prepare_rows)
    prepared = prepare_rows({"input_ids": tokens, "labels": tokens})
    message = prepared.flag("PROMPT_IS_TRAINED")
    assert "49 of 49 tokens have loss" in message
    assert "What colour is the sky?" in message
    assert "ALL_TRAINED" in prepared.codes


def test_a_trained_header_is_named(prepare_rows: Prepare) -> None:
    tokens, labels = tokenized(prepare_rows)
    labels[31:42] = tokens[31:42]
    prepared = prepare_rows({"input_ids": tokens, "labels": labels})
    assert "17 of 49 tokens have loss" in prepared.flag("PROMPT_IS_TRAINED")
    assert "'<|im_start|>assistant'" in prepared.flag("PROMPT_IS_TRAINED")


@pytest.mark.parametrize("template", ["chatml", "trim", "think", "next", "opened_think"])
def test_the_right_labels_raise_no_flag(prepare_rows: Prepare, template: str) -> None:
    tokens, labels = tokenized(prepare_rows, templates.ALL[template])
    prepared = prepare_rows({"input_ids": tokens, "labels": labels}, template=templates.ALL[template])
    assert prepared.codes.keys() <= {"BOS_NOT_IN_TEMPLATE"}
    assert prepared.data.train[0].labels.tolist() == labels


def test_a_trained_newline_behind_the_end_is_no_prompt(prepare_rows: Prepare) -> None:
    (sample,) = prepare_rows(chat("a", "b", "c", "d")).data.train
    tokens, labels = sample.input_ids.tolist(), sample.labels.tolist()
    ends = [number + 1 for number, label in enumerate(labels) if label == tokens[-2]]
    for place in ends:
        labels[place] = tokens[place]
    assert prepare_rows({"input_ids": tokens, "labels": labels}).codes == {}


def test_an_answer_without_its_end_is_named(prepare_rows: Prepare) -> None:
    tokens, labels = tokenized(prepare_rows)
    prepared = prepare_rows({"input_ids": tokens[:-3], "labels": labels[:-3]})
    assert "no token that ends it" in prepared.flag("NO_EOS")


def test_tokens_of_plain_text_are_no_prompt(prepare_rows: Prepare) -> None:
    prepared = prepare_rows({"input_ids": ids("A page of a book."), "labels": ids("A page of a book.")})
    assert set(prepared.codes) == {"ALL_TRAINED"}
