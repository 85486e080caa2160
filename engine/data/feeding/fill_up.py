"""Batches of one size: the last one of an epoch may have fewer lines."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from engine.data.feeding.batches import Batch, Packs
from engine.labels import IGNORED_LABEL


def filled_up(batch: Batch, lines: int, pad_id: int) -> Batch:
    """The batch with lines of padding behind its own, `lines` in all; they have no loss and belong to no row."""
    missing = lines - batch.input_ids.shape[0]
    assert missing >= 0, f"a batch of {batch.input_ids.shape[0]} lines has more than {lines}"
    if missing == 0:
        return batch
    length = batch.input_ids.shape[1]

    def with_lines_of(tensor: Tensor, value: int) -> Tensor:
        return torch.cat([tensor, tensor.new_full((missing, length), value)])

    packs = batch.packs
    if packs is not None:
        behind = torch.arange(length).expand(missing, length)
        packs = Packs(torch.cat([packs.position_ids, behind]), packs.documents)
    return replace(
        batch,
        input_ids=with_lines_of(batch.input_ids, pad_id),
        attention_mask=with_lines_of(batch.attention_mask, 0),
        labels=with_lines_of(batch.labels, IGNORED_LABEL),
        packs=packs,
        slots=lines * length,
    )
