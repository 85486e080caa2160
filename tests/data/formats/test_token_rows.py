"""Rows that were tokenized elsewhere, from the file to text and loss, and what is said of their loss."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from engine.data import DataError
from engine.data.audit.checks import flags_of
from engine.data.conversation import TokenRow
from engine.data.rendering.given_tokens import decoded
from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from tests.data import templates
from tests.data.conftest import Prepare, chat
from tests.data.formats.conftest import ids, parsed, refusal, rendered
from tests.data.template import real

SKY = chat("What colour is the sky?", "Blue.")


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


@pytest.mark.parametrize("last", [-100, 0])
def test_padding_is_left_out(last: int) -> None:
    row = {"input_ids": [0, 0, 97, 98, 0], "labels": [-100, -100, -100, 98, last], "attention_mask": [0, 0, 1, 1, 0]}
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


def tokenized(prepare_rows: Prepare, template: str = templates.CHATML) -> tuple[list[int], list[int]]:
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


@pytest.mark.parametrize(
    "name", ["cohere", "deepseekv3", "gemma3", "gptoss", "llava_next", "llama3", "phi3", "qwen3_5_think", "smolvlm"]
)
def test_real_templates_show_where_the_answers_are(name: str) -> None:
    renderer = Renderer(real.tokenizer_of(name))
    (chatted,) = renderer.render([parsed({"messages": [*SKY, *chat("Sure?", "Yes.")]})])
    assert isinstance(chatted, Rendered) and renderer.facts is not None

    def flags(has_loss: list[bool]) -> dict[str, str]:
        (given,) = renderer.render([parsed({"input_ids": chatted.input_ids, "loss_mask": has_loss})])
        assert isinstance(given, Rendered) and str(given.text) == str(chatted.text)
        return {flag.code: flag.message for flag in flags_of(given, renderer.facts)}

    assert flags(chatted.has_loss.tolist()) == {}
    assert "What colour is the sky?" in flags([True] * len(chatted.input_ids))["PROMPT_IS_TRAINED"]


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


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=12), cuts=st.lists(st.integers(0, 48), max_size=6)
)
def test_tokens_may_cut_a_text_anywhere(text: str, cuts: list[int]) -> None:
    written = text.encode()
    places = sorted({0, len(written), *(cut for cut in cuts if cut < len(written))})
    tokens = [written[start:stop] for start, stop in pairwise(places)]
    read, starts = decoded(tokens)
    assert read == text
    assert starts == [len(written[:place].decode(errors="ignore")) for place in places[:-1]]


@given(tokens=st.lists(st.binary(max_size=4), max_size=8))
def test_bytes_that_are_no_text_keep_their_places(tokens: list[bytes]) -> None:
    read, starts = decoded(tokens)
    read.encode()
    assert len(starts) == len(tokens)
    assert starts == sorted(starts)
    assert all(0 <= start <= len(read) for start in starts)


def test_a_tokenizer_that_writes_spaces_as_a_letter() -> None:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁a", "▁ab", "ab"]
    merges = [("▁", "a"), ("a", "b"), ("▁a", "b")]
    vocab = {piece: number for number, piece in enumerate(pieces)}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    backend.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in ("<s>", "</s>")])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")
    document = rendered({"text": "ab é a"}, tokenizer)
    row = rendered({"input_ids": document.input_ids}, tokenizer)
    assert str(document.text) == "ab é a</s>"
    assert str(row.text) == " ab é a</s>"
    assert [row.text[start] for start in row.starts] == [" ", " ", "é", "é", " ", "<"]
