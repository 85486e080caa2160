"""Samples side by side in tensors. The only file of this package that imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.data.samples import Sample
from engine.labels import IGNORED_LABEL


@dataclass(frozen=True, slots=True)
class Batch:
    """B samples, padded on the right to the longest of them, S tokens.

    `labels` has the indices of `input_ids` (not shifted): -100 where there is no loss, in padding, and for each
    sample's first token. `real_tokens` counts without padding, `slots` is B x S.
    """

    input_ids: Tensor  # [B, S] int64
    attention_mask: Tensor  # [B, S] int64, 1 for real tokens
    labels: Tensor  # [B, S] int64
    rows: tuple[int, ...]
    real_tokens: int
    slots: int
    loss_tokens: int


def collate(samples: Sequence[Sample], pad_id: int) -> Batch:
    """One batch of `samples`, in order; `pad_id` fills the slots behind a sample and has no influence on the loss."""
    assert samples, "a batch needs at least one sample"
    longest = max(len(sample.input_ids) for sample in samples)

    def padded(rows: list[list[int]], filler: int) -> Tensor:
        return torch.tensor([row + [filler] * (longest - len(row)) for row in rows], dtype=torch.int64)

    labels = padded([[IGNORED_LABEL, *sample.labels[1:]] for sample in samples], IGNORED_LABEL)
    return Batch(
        input_ids=padded([sample.input_ids for sample in samples], pad_id),
        attention_mask=padded([[1] * len(sample.input_ids) for sample in samples], 0),
        labels=labels,
        rows=tuple(sample.row for sample in samples),
        real_tokens=sum(len(sample.input_ids) for sample in samples),
        slots=longest * len(samples),
        loss_tokens=int((labels != IGNORED_LABEL).sum()),
    )
