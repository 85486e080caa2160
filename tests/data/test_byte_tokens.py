"""The places of tokens that follow from their bytes are those that the tokenizer itself tells."""

from __future__ import annotations

import random
from bisect import bisect_left

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.data.conversation import Document
from engine.data.encoding.byte_tokens import ByteTokens, byte_places
from engine.data.encoding.text_encoder import SpecialTextError, TextEncoder
from engine.data.masking.draft import OwnDraft
from engine.data.masking.reasons import Segment, Why
from engine.data.template.traced import TracedStr
from tests.data.conftest import byte_tokenizer

PIECES = ["a", "b c", "\n\n", "é", "e\u0301", "\u0301", "中文", "\U0001f600", "\x04", "<|im_end|>", "<|im_", " "]


def any_texts(count: int) -> list[str]:
    draw = random.Random(7)
    return ["", *("".join(draw.choices(PIECES, k=draw.randint(1, 12))) for _ in range(count))]


def draft(text: str) -> OwnDraft:
    """Text of the template, with a border behind each character."""
    borders = [Segment(place, place + 1, None, Why.TEMPLATE, False) for place in range(len(text))]
    return OwnDraft(Document(0, "any.txt", 1, ()), TracedStr.from_template(text), borders)


def tokenizer_with(**parts: object) -> PreTrainedTokenizerFast:
    tokenizer = byte_tokenizer(newline_merge=True)
    for name, part in parts.items():
        setattr(tokenizer.backend_tokenizer, name, part)
    return tokenizer


def without_a_byte() -> PreTrainedTokenizerFast:
    alphabet = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - {"Ą"})  # the byte 4
    backend = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.add_special_tokens(["<|im_end|>"])
    return PreTrainedTokenizerFast(tokenizer_object=backend)


@pytest.mark.parametrize(
    "tokenizer",
    [tokenizer_with(), tokenizer_with(normalizer=normalizers.NFC()), without_a_byte()],
    ids=["byte-level", "normalizing", "without a byte"],
)
def test_ids_and_places_are_the_tokenizers_own(tokenizer: PreTrainedTokenizerFast) -> None:
    texts = any_texts(200)
    assert ByteTokens.of(tokenizer.backend_tokenizer) is not None
    for text, encoded in zip(texts, TextEncoder(tokenizer).encode(list(map(draft, texts))), strict=True):
        assert not isinstance(encoded, SpecialTextError)
        own = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
        starts = [start for start, _ in own.offsets]
        assert (encoded.ids, list(encoded.starts)) == (own.ids, starts)
        assert encoded.stops == [bisect_left(starts, place + 1) for place in range(len(text))]


@pytest.mark.parametrize(
    "tokenizer",
    [
        tokenizer_with(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True)),
        tokenizer_with(pre_tokenizer=pre_tokenizers.Metaspace()),
        tokenizer_with(normalizer=normalizers.Lowercase()),
        tokenizer_with(normalizer=normalizers.Prepend("_")),
    ],
    ids=["prefix space", "other pieces", "lower case", "prepends"],
)
def test_a_tokenizer_that_changes_the_text_tells_the_places_itself(tokenizer: PreTrainedTokenizerFast) -> None:
    assert ByteTokens.of(tokenizer.backend_tokenizer) is None


def test_a_token_that_swallows_white_space_is_not_as_long_as_its_name() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.backend_tokenizer.add_special_tokens([AddedToken("<|go|>", rstrip=True, normalized=False)])
    assert ByteTokens.of(tokenizer.backend_tokenizer) is None


def test_places_in_bytes() -> None:
    assert list(byte_places("abc", [0, 2, 3])) == [0, 2, 3]
    assert list(byte_places("aé\U0001f600b", [0, 1, 2, 2, 3, 4])) == [0, 1, 3, 3, 7, 8]
