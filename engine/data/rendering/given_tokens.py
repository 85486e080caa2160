"""Rows that were tokenized elsewhere: their tokens as text, and the loss that the row itself gives them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from engine.data.conversation import TokenRow
from engine.data.encoding.token_bytes import TokenBytes
from engine.data.errors import BadRow
from engine.data.masking.draft import OwnDraft
from engine.data.masking.reasons import Segment, Why
from engine.data.rendering.rendered import Rendered
from engine.data.template.traced import TracedStr


class GivenTokenRenderer:
    """Reads the tokens of such rows with one tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._vocabulary = len(tokenizer)
        self._token_of = tokenizer.backend_tokenizer.id_to_token
        self._look_up = TokenBytes(tokenizer).of
        self._bytes: dict[int, bytes] = {}

    def render(self, row: TokenRow) -> Rendered | BadRow:
        """The row as text and tokens; a bad row where an id is not in the vocabulary."""
        for token_id in set(row.input_ids) - self._bytes.keys():
            if token_id >= 2**32 or self._token_of(token_id) is None:
                place = row.input_ids.index(token_id)
                reason = f"input_ids[{place}] is {token_id}, which the tokenizer does not have"
                return row.bad_row("BAD_TOKENS", f"{reason} (it knows {self._vocabulary} tokens)")
            self._bytes[token_id] = self._look_up(token_id)
        text, starts = decoded([self._bytes[token_id] for token_id in row.input_ids])
        segments, stops = _segments(row, [*starts, len(text)])
        draft = OwnDraft(row, TracedStr.from_template(text), segments)
        return Rendered(draft, list(row.input_ids), starts, stops)


def decoded(tokens: Sequence[bytes]) -> tuple[str, list[int]]:
    """The text of the tokens, and the character in which each token begins.

    A token that is part of a character begins where the character does. A byte that belongs to no character becomes
    one U+FFFD.
    """
    text = b"".join(tokens).decode("utf-8", "surrogateescape")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    is_stray = (codes >= 0xDC80) & (codes <= 0xDCFF)
    widths = np.where(is_stray, 1, 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000))
    character_starts = np.cumsum(widths) - widths
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    # A token without bytes at the very end begins behind the last character.
    bounds = np.append(character_starts, widths.sum())
    starts = np.searchsorted(bounds, np.cumsum(lengths) - lengths, side="right") - 1
    if is_stray.any():
        text = "".join("\ufffd" if stray else character for character, stray in zip(text, is_stray, strict=True))
    return text, starts.tolist()


def _segments(row: TokenRow, starts: list[int]) -> tuple[list[Segment], list[int]]:
    """Neighbours with the same loss together, and the number of tokens up to the end of each such stretch."""
    if row.has_loss is None:
        return [Segment(0, starts[-1], None, Why.TEXT, True)], [len(row.input_ids)]
    segments: list[Segment] = []
    stops: list[int] = []
    first = 0
    for loss, group in groupby(row.has_loss):
        stop = first + sum(1 for _ in group)
        why = Why.GIVEN_LOSS if loss else Why.GIVEN_NO_LOSS
        segments.append(Segment(starts[first], starts[stop], None, why, loss))
        stops.append(stop)
        first = stop
    return segments, stops
