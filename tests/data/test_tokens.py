"""Control tokens of the template, look-alikes of the data, and tokenizers with habits of their own."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.data import DataError
from engine.data.conversation import Document
from engine.data.encoding.starts import TokenStarts
from engine.data.encoding.text_encoder import TextEncoder
from engine.data.masking.draft import OwnDraft
from engine.data.template.traced import Origin, TracedStr, concat
from tests.data import templates
from tests.data.conftest import Prepare, byte_tokenizer, chat

ANSWER = Origin(0, "content")


def text(*pieces: str) -> TracedStr:
    """Pieces by turns of the template and of the data, the template's first."""
    traced = concat(
        TracedStr.from_data(piece, ANSWER) if number % 2 else TracedStr.from_template(piece)
        for number, piece in enumerate(pieces)
    )
    assert isinstance(traced, TracedStr)
    return traced


def encode(tokenizer: Any, traced: TracedStr) -> tuple[list[int], list[int]]:
    (encoded,) = TextEncoder(tokenizer).encode([OwnDraft(Document(0, "any.txt", 1, ()), traced, [])])
    assert not isinstance(encoded, ValueError)
    return encoded.ids, encoded.starts


def with_token(token: AddedToken, special: bool) -> PreTrainedTokenizerFast:
    tokenizer = byte_tokenizer()
    added = [token]
    tokenizer.backend_tokenizer.add_special_tokens(added) if special else tokenizer.add_tokens(added)
    return tokenizer


def test_starts_are_places_in_the_text_beside_special_text() -> None:
    traced = text("<|im_start|>", "é<|eot|>", "<|im_end|>\n")
    ids, starts = encode(byte_tokenizer(), traced)
    assert starts == [0, 12, 12, *range(13, 20), 20, 30]
    assert len(ids) == len(starts)


def test_half_a_token_of_the_data_does_not_join_the_templates_other_half() -> None:
    tokenizer = byte_tokenizer()
    ids, _ = encode(tokenizer, text("", "<|im_", "end|><|im_end|>"))
    assert ids[-1] == tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert ids.count(ids[-1]) == 1


def test_a_token_that_swallows_white_space_of_the_data_stays_the_tokenizers_own() -> None:
    tokenizer = with_token(AddedToken("<|go|>", rstrip=True, special=True, normalized=False), special=True)
    plain = "<|go|>  hi<|im_end|>"
    ids, _ = encode(tokenizer, text("<|go|>", "  hi", "<|im_end|>"))
    assert ids == tokenizer(plain, add_special_tokens=False)["input_ids"]


def test_think_tags_that_are_vocabulary_stay_vocabulary(prepare_rows: Prepare) -> None:
    tokenizer = with_token(AddedToken("<think>", normalized=False), special=False)
    tag = tokenizer.convert_tokens_to_ids("<think>")
    plain = prepare_rows(chat("a", "<think>b"), tokenizer=tokenizer)
    assert plain.data.train[0].input_ids.tolist().count(tag) == 1
    beside_special_text = prepare_rows(chat("<|eot|>", "<think>b"), tokenizer=tokenizer)
    assert beside_special_text.data.train[0].input_ids.tolist().count(tag) == 1
    assert beside_special_text.trained_text() == "<think>b<|im_end|>"


def test_a_turn_end_that_is_not_called_special_is_guarded_too(prepare_rows: Prepare) -> None:
    template = templates.CHATML.replace("<|im_end|>", "<stop>")
    tokenizer = with_token(AddedToken("<stop>", normalized=False), special=False)
    tokenizer.chat_template = template
    prepared = prepare_rows(chat("a <stop> b", "c<stop>d"), tokenizer=tokenizer)
    ids = prepared.data.train[0].input_ids.tolist()
    assert ids.count(tokenizer.convert_tokens_to_ids("<stop>")) == 2
    assert prepared.trained_text() == "c<stop>d<stop>"


def test_a_prefix_space_is_added_once_in_front(prepare_rows: Prepare) -> None:
    pieces = ["▁", *"abcdefghijklmnopqrstuvwxyz<|>_/"]
    backend = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    backend.add_special_tokens(["<|h|>", "<|/h|>", "<|eot|>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    words = ("q", "<|h|>", "user", "<|/h|>", "hi <|h|> there", "<|eot|>")
    ids, _ = encode(tokenizer, text("q<|h|>user<|/h|>", "hi <|h|> there", "<|eot|>"))
    tokens = tokenizer.convert_ids_to_tokens(ids)
    assert "".join(tokens) == "▁" + "".join(words).replace(" ", "▁")
    assert tokens.count("<|h|>") == 1


def test_a_tokenizer_that_makes_special_tokens_of_plain_text_is_told(prepare_rows: Prepare) -> None:
    pieces = [(character, -1.0) for character in "abcdefghijklmnopqrstuvwxyz<|>_\n "] + [("<|im_end|>", 0.0)]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0))
    backend.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    tokenizer.chat_template = templates.CHATML
    with pytest.raises(DataError, match=r"line 1: the tokenizer makes the special token '<\|im_end\|>' even of plain"):
        prepare_rows(chat("a", "b<|im_end|>"), tokenizer=tokenizer)


def test_tokens_are_counted_as_if_all_starts_were_listed() -> None:
    backend = byte_tokenizer(newline_merge=True).backend_tokenizer
    for text in ["a\n\nb<|im_end|>\n\n\n", "é\U0001f600\n\n", "", "<|im_start|>"]:
        starts = TokenStarts(backend.encode(text, add_special_tokens=False))
        listed = [start for start, _ in backend.encode(text, add_special_tokens=False).offsets]
        for place in range(len(text) + 2):
            assert starts.tokens_before(place) == bisect_left(listed, place)
        assert list(starts) == listed
