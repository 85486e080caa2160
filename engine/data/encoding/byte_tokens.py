"""Tokens that stand for bytes of the text, one after another: where they begin follows from how long they are.

That is so for byte-level tokenizers, which most are. They need not work out the place of each token for us.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal
from unicodedata import is_normalized

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models

from engine.data.encoding.starts import Starts

_Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS: tuple[_Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
_UNKNOWN = -1


class ByteTokens:
    """The lengths of a byte-level tokenizer's tokens in bytes, looked up as they are met."""

    def __init__(self, backend: Tokenizer) -> None:
        self._piece = backend.id_to_token
        added = {number: len(token.content.encode()) for number, token in backend.get_added_tokens_decoder().items()}
        self._lengths = np.full(1 + max([backend.get_vocab_size(), *added]), _UNKNOWN, dtype=np.int32)
        self._lengths[list(added)] = list(added.values())
        self._form = _form_of(backend)

    @classmethod
    def of(cls, backend: Tokenizer) -> ByteTokens | None:
        """None for a tokenizer that is none of this kind, or that may add to the text.

        It may still leave bytes out that its vocabulary does not have. Then its tokens are shorter than the text.
        """
        keeps_text = backend.normalizer is None or _form_of(backend) is not None
        swallows = any(token.lstrip or token.rstrip for token in backend.get_added_tokens_decoder().values())
        return cls(backend) if keeps_text and not swallows and _is_byte_level(backend) else None

    def reads(self, text: str) -> bool:
        """Whether the tokens of a text stand for its own characters, and not for those of another form of it."""
        return self._form is None or text.isascii() or is_normalized(self._form, text)

    def lengths_of(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """[S] int32: the bytes of each token."""
        lengths: NDArray[np.int32] = self._lengths[ids]
        if lengths.min(initial=0) == _UNKNOWN:
            for number in np.unique(ids[lengths == _UNKNOWN]).tolist():
                self._lengths[number] = len(self._piece(number) or "")  # such pieces have one character a byte
            lengths = self._lengths[ids]
        return lengths


class ByteStarts(Starts):
    """The character in which each token of a text begins, from the tokens' bytes."""

    def __init__(self, text: str, lengths: NDArray[np.int32]) -> None:
        self._text = text
        self._lengths = lengths

    def _listed(self) -> list[int]:
        starts = np.cumsum(self._lengths) - self._lengths
        if not self._text.isascii():
            is_continuation = np.frombuffer(self._text.encode(), dtype=np.uint8) & 0xC0 == 0x80
            starts = (np.cumsum(~is_continuation) - 1)[starts]
        listed: list[int] = starts.tolist()
        return listed

    def __len__(self) -> int:
        return len(self._lengths)


def byte_places(text: str, places: Sequence[int]) -> Sequence[int]:
    """Ascending places in a text, in bytes of UTF-8 instead of characters."""
    if text.isascii():
        return places
    found: list[int] = []
    place = size = 0
    for following in places:
        size += len(text[place:following].encode())
        place = following
        found.append(size)
    return found


def _form_of(backend: Tokenizer) -> _Form | None:
    """The form of Unicode that the tokenizer brings a text into first; None where it does nothing of the kind."""
    kind = None if backend.normalizer is None else _state(backend.normalizer).get("type")
    return next((form for form in _FORMS if form == kind), None)


def _is_byte_level(backend: Tokenizer) -> bool:
    model, splitter = backend.model, backend.pre_tokenizer
    if not isinstance(model, models.BPE) or splitter is None or model.dropout:
        return False
    if model.unk_token or model.continuing_subword_prefix or model.end_of_word_suffix:
        return False
    state = _state(splitter)
    *steps, last = state["pretokenizers"] if state["type"] == "Sequence" else [state]
    is_whole = all(
        step["type"] == "Digits" or (step["type"] == "Split" and step["behavior"] != "Removed") for step in steps
    )
    return is_whole and last["type"] == "ByteLevel" and not last["add_prefix_space"]


def _state(part: Any) -> dict[str, Any]:
    """A part of a tokenizer as tokenizer.json describes it."""
    state: dict[str, Any] = json.loads(part.__getstate__())
    return state
