"""Many texts at once, of which the tokens stand for bytes.

Tokens and bytes of all texts are counted through, one text after another, so that numpy finds the places of a whole
batch in one go. A text is left to others (None) where its tokens do not stand for all of its bytes, and where the data
wrote something that the tokenizer read as a control token.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from engine.data.encoding.byte_tokens import ByteStarts, ByteTokens, byte_places
from engine.data.encoding.encoded import EncodedText
from engine.data.masking.draft import Draft

Counts = NDArray[np.int64]


class ByteBatch:
    """N drafts with their texts and ids; T tokens in all."""

    def __init__(
        self, byte_tokens: ByteTokens, drafts: Sequence[Draft], plain: Sequence[str], ids: Sequence[list[int]]
    ) -> None:
        self._drafts, self._plain, self._ids = drafts, plain, ids
        counts = _counts(ids)
        self._row_stops = np.cumsum(counts)  # [N] in tokens
        self._row_starts = self._row_stops - counts  # [N]
        self._tokens = np.fromiter(chain.from_iterable(ids), dtype=np.int32, count=int(counts.sum()))  # [T]
        self._lengths = byte_tokens.lengths_of(self._tokens)  # [T] in bytes
        self._bytes = np.concatenate([[0], np.cumsum(self._lengths, dtype=np.int64)])  # [T + 1] where each token starts
        self._bases = self._bytes[self._row_starts]  # [N] where each text starts
        sizes = self._bytes[self._row_stops] - self._bases
        self._is_whole = [
            size == (len(text) if text.isascii() else len(text.encode()))
            for size, text in zip(sizes.tolist(), plain, strict=True)
        ]

    def encoded(self, is_control: NDArray[np.bool_]) -> list[EncodedText | None]:
        """One result a draft. `is_control` says of each id whether it is a control token; ids above are none."""
        borders = [draft.borders for draft in self._drafts]
        stops = self._tokens_before(borders)
        by_data = self._with_control_tokens_of_data(is_control)
        found: list[EncodedText | None] = []
        place = 0
        for number, (start, stop) in enumerate(zip(self._row_starts.tolist(), self._row_stops.tolist(), strict=True)):
            following = place + len(borders[number])
            if self._is_whole[number] and number not in by_data:
                starts = ByteStarts(self._plain[number], self._lengths[start:stop])
                array = self._tokens[start:stop]
                found.append(EncodedText(self._ids[number], starts, stops[place:following], array=array))
            else:
                found.append(None)
            place = following
        return found

    def _tokens_before(self, borders: Sequence[Sequence[int]]) -> list[int]:
        """How many tokens of its text begin before each border, the borders of all texts one after another."""
        places = self._in_all_bytes(borders)
        before = np.searchsorted(self._bytes[:-1], places)
        stops: list[int] = (before - np.repeat(self._row_starts, _counts(borders))).tolist()
        return stops

    def _with_control_tokens_of_data(self, is_control: NDArray[np.bool_]) -> set[int]:
        """The numbers of those texts in which the data has a part in a control token."""
        control = is_control[np.minimum(self._tokens, len(is_control) - 1)].nonzero()[0]
        spans = [
            draft.data_spans if whole else ((), ()) for draft, whole in zip(self._drafts, self._is_whole, strict=True)
        ]
        starts = self._in_all_bytes([starts for starts, _ in spans])
        stops = self._in_all_bytes([stops for _, stops in spans])
        last = np.searchsorted(starts, self._bytes[control + 1], side="left") - 1  # that begins before the token ends
        is_of_data = (last >= 0) & (np.append(stops, 0)[last] > self._bytes[control])
        return set(np.searchsorted(self._row_stops, control[is_of_data], side="right").tolist())

    def _in_all_bytes(self, places: Sequence[Sequence[int]]) -> Counts:
        """Characters of each text as bytes of all texts, in a row."""
        in_bytes = [byte_places(text, inside) for text, inside in zip(self._plain, places, strict=True)]
        counts = _counts(places)
        flat = np.fromiter(chain.from_iterable(in_bytes), dtype=np.int64, count=int(counts.sum()))
        in_all: Counts = flat + np.repeat(self._bases, counts)
        return in_all


def _counts(lists: Sequence[Sequence[int]]) -> Counts:
    return np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
