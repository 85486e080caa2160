"""One example as text and tokens: the result of rendering."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from engine.data.conversation import Example
from engine.data.encoding.encoded import EncodedText
from engine.data.masking.draft import Draft
from engine.data.masking.reasons import Segment
from engine.data.template.traced import TracedStr
from engine.labels import IGNORED_LABEL


@dataclass(frozen=True, slots=True)
class Rendered:
    """One example as text and tokens, before any limit of length.

    `segments` cover the text. A token belongs to the segment of its first byte: `token_stops[i]` is the number of
    tokens up to the end of segment i. `starts[i]` is the place in the text where token i begins. `special_texts` are
    what the data wrote that looks like a special token and was kept as plain text.
    """

    draft: Draft
    input_ids: list[int]
    starts: Sequence[int]
    token_stops: list[int]
    special_texts: tuple[str, ...] = ()
    array: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, draft: Draft, encoded: EncodedText) -> Rendered:
        """The draft with the tokens of its text."""
        return cls(draft, encoded.ids, encoded.starts, encoded.stops, encoded.special_texts, encoded.array)

    @property
    def example(self) -> Example:
        return self.draft.example

    @property
    def text(self) -> TracedStr:
        return self.draft.text

    @property
    def segments(self) -> list[Segment]:
        return self.draft.segments

    @property
    def plan(self) -> object | None:
        """As in `Draft`."""
        return self.draft.plan

    @property
    def ids(self) -> NDArray[np.int32]:
        """[S] int32: the same as `input_ids`."""
        return np.array(self.input_ids, dtype=np.int32) if self.array is None else self.array

    @property
    def has_loss(self) -> NDArray[np.bool_]:
        """[S] bool: which tokens have loss; never the first one."""
        return loss_masks([self])[0]

    @property
    def labels(self) -> list[int]:
        """The ids of the tokens that have loss, -100 elsewhere and always for the first token."""
        labels: list[int] = np.where(self.has_loss, np.array(self.input_ids), IGNORED_LABEL).tolist()
        return labels

    def segment_of(self, token: int) -> Segment:
        """Turn, reason and loss of one token."""
        return self.segments[bisect_right(self.token_stops, token)]


def loss_masks(rendered: Sequence[Rendered]) -> list[NDArray[np.bool_]]:
    """`has_loss` of many rows at once, as views into one array."""
    lengths = [len(one.input_ids) for one in rendered]
    row_stops = list(accumulate(lengths))
    row_starts = [stop - length for stop, length in zip(row_stops, lengths, strict=True)]
    segments = np.array([len(one.token_stops) for one in rendered], dtype=np.int64)
    stops = np.fromiter(chain.from_iterable(one.token_stops for one in rendered), dtype=np.int64)
    losses = np.fromiter(chain.from_iterable(one.draft.losses for one in rendered), dtype=np.bool_)
    counts = np.diff(stops + np.repeat(np.array(row_starts, dtype=np.int64), segments), prepend=0)
    has_loss = np.repeat(losses, counts)
    has_loss[[start for start, length in zip(row_starts, lengths, strict=True) if length]] = False
    return [has_loss[start:stop] for start, stop in zip(row_starts, row_stops, strict=True)]
