"""Documents one after another in a line of tokens, and their tokens in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 64
"""Tokens that the delta rule takes at once, here and in the kernels."""


def borders_of(shape: Sequence[int], cu_seqlens: Tensor | None) -> list[int]:
    """Where documents begin, and the end of the last one, in a batch [B, T, ...] seen as one line of B x T tokens.

    Without `cu_seqlens` each line is a document. With them, int32 [N + 1] from 0 to T, the batch is one line.
    """
    lines, length = shape[:2]
    if cu_seqlens is None:
        return [line * length for line in range(lines + 1)]
    borders: list[int] = cu_seqlens.tolist()
    assert lines == 1, "documents by cu_seqlens lie in one line"
    assert borders[0] == 0 and borders[-1] == length, "documents by cu_seqlens cover the whole line"
    return borders


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """The tokens of all documents in N chunks of C, no chunk with tokens of two documents."""

    tokens: Tensor  # [N, C] int64: which of the T tokens; T where there is none
    back: Tensor  # [T] int64: where each token stands in the N x C places
    turns: tuple[Tensor, ...]
    """The first chunk of every document, then the second of those that have one, and so on; the documents with most
    chunks come first in each, so that those that go on are the first of the turn before."""

    @classmethod
    def of(cls, borders: Sequence[int], device: torch.device) -> Chunks:
        """The chunks of documents with these borders."""
        starts = torch.tensor(borders[:-1], dtype=torch.int64)
        lengths = torch.tensor(borders, dtype=torch.int64).diff()
        counts = (lengths + CHUNK - 1) // CHUNK  # [D]
        first = counts.cumsum(0) - counts  # [D]: each document's first chunk
        document = torch.repeat_interleave(torch.arange(len(counts)), counts)  # [N]
        inside = (torch.arange(len(document)) - first[document])[:, None] * CHUNK + torch.arange(CHUNK)  # [N, C]
        is_token = inside < lengths[document, None]
        tokens = torch.where(is_token, starts[document, None] + inside, borders[-1])
        order = counts.argsort(descending=True, stable=True)
        turns = [(first + turn)[order[counts[order] > turn]] for turn in range(int(counts.max()))]
        back = is_token.flatten().nonzero().flatten()
        return cls(tokens.to(device), back.to(device), tuple(turn.to(device) for turn in turns))

    def gathered(self, values: Tensor) -> Tensor:
        """values [T, H, ...] as [N, H, C, ...]; zeros where there is no token."""
        with_nothing = torch.cat([values, values.new_zeros(1, *values.shape[1:])])
        return with_nothing[self.tokens].transpose(1, 2)

    def scattered(self, values: Tensor) -> Tensor:
        """values [N, H, C, ...] as [T, H, ...]."""
        return values.transpose(1, 2).flatten(0, 1)[self.back]


def places_in_documents(borders: Sequence[int], device: torch.device) -> Tensor:
    """For each of the T tokens how many tokens of its document stand before it, int64 [T]."""
    starts = torch.tensor(borders[:-1])
    lengths = torch.tensor(borders).diff()
    return (torch.arange(borders[-1]) - torch.repeat_interleave(starts, lengths)).to(device)


def places_by_borders(cu_seqlens: Tensor, length: int) -> Tensor:
    """The same, int32 [T], from `cu_seqlens` on their device, which nobody waits for; documents may be empty."""
    tokens = torch.arange(length, dtype=torch.int32, device=cu_seqlens.device)
    document = torch.searchsorted(cu_seqlens, tokens, right=True) - 1  # [T]: the last one that begins there or before
    return tokens - cu_seqlens[document]
