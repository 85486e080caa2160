"""Samples side by side in tensors. The only file of this package that imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.data.feeding.samples import Sample
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
    longest = max(map(len, samples))

    input_ids = torch.full((len(samples), longest), pad_id, dtype=torch.int64)
    attention_mask = torch.zeros_like(input_ids)
    labels = torch.full_like(input_ids, IGNORED_LABEL)
    for number, sample in enumerate(samples):
        input_ids[number, : len(sample)] = torch.from_numpy(sample.input_ids)
        attention_mask[number, : len(sample)] = 1
        labels[number, 1 : len(sample)] = torch.from_numpy(sample.labels[1:])
    return Batch(
        input_ids=input_ids,
        attention_mask=attention_mask,
        labels=labels,
        rows=tuple(sample.row for sample in samples),
        real_tokens=sum(map(len, samples)),
        slots=longest * len(samples),
        loss_tokens=int((labels != IGNORED_LABEL).sum()),
    )
