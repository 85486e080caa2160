"""The tokens of one examined row: their text and bytes, and why each has loss or not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from engine.data.conversation import role_of
from engine.data.encoding.token_bytes import TokenBytes
from engine.data.examine import Examined
from engine.data.masking.reasons import Why
from engine.data.rendering.provenance import Sources
from engine.data.rendering.rendered import Rendered

Stretch = tuple[int, int]
"""Characters from a place in the text up to another."""


@dataclass(frozen=True)
class RowTokens:
    """The tokens of a row that can be used; `limit` is `data.max_seq_length`."""

    examined: Examined
    rendered: Rendered
    limit: int
    token_bytes: TokenBytes

    def __len__(self) -> int:
        return len(self.rendered.input_ids)

    @cached_property
    def text(self) -> str:
        """The rendered text as a plain string."""
        return str.__getitem__(self.rendered.text, slice(None))

    @property
    def loss_tokens(self) -> int:
        """Tokens that are trained within the limit."""
        return int(self.examined.has_loss[: self.limit].sum())

    @property
    def limit_in_text(self) -> int:
        """The place in the text where the limit cuts."""
        starts = self.rendered.starts
        return starts[self.limit] if self.limit < len(starts) else len(self.text)

    def has_loss(self, token: int) -> bool:
        return token < self.limit and bool(self.examined.has_loss[token])

    def why(self, token: int) -> Why:
        """Why the token has loss or not."""
        segment = self.rendered.segment_of(token)
        if token >= self.limit:
            return Why.CUT_OFF
        return Why.FIRST_TOKEN if token == 0 and segment.loss else segment.why

    def text_of(self, token: int) -> str:
        """What the token stands for. Of several tokens that share a character, the first has it and the others ''."""
        starts = self.rendered.starts
        start = starts[token]
        if token and starts[token - 1] == start:
            return ""
        stop = bisect_right(starts, start)
        return self.text[start : starts[stop] if stop < len(starts) else len(self.text)]

    def token_at(self, place: int) -> int:
        """The first token that covers the character there; the last one behind the end of the text."""
        starts = self.rendered.starts
        return bisect_left(starts, starts[max(0, bisect_right(starts, place) - 1)]) if starts else 0

    def as_json(self, token: int) -> dict[str, Any]:
        """One token in the shape of docs/json.md."""
        token_id, turn = self.rendered.input_ids[token], self.rendered.segment_of(token).turn
        return {
            "id": token_id,
            "text": self.text_of(token),
            "bytes": self.token_bytes.of(token_id).hex(),
            "source": self._source(token),
            "loss": self.has_loss(token),
            "turn": None if turn is None else turn + 1,
            "role": role_of(self.rendered.example, turn),
            "why": self.why(token).value,
        }

    def lit(self) -> list[Stretch]:
        """The stretches of the text whose tokens are trained, neighbours joined, exact to the token."""
        loss = np.zeros(len(self) + 2, dtype=np.int8)
        loss[1:-1] = self.examined.has_loss
        loss[self.limit + 1 :] = 0
        edges = np.flatnonzero(np.diff(loss))
        bounds = [*self.rendered.starts, len(self.text)]
        return [(bounds[start], bounds[stop]) for start, stop in zip(edges[::2], edges[1::2], strict=True)]

    def _source(self, token: int) -> dict[str, Any] | None:
        source = self._sources.of(token)
        return None if source is None else {"field": source.field, "start": source.start, "stop": source.stop}

    @cached_property
    def _sources(self) -> Sources:
        return Sources(self.rendered)
