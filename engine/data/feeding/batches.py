"""Samples in tensors, side by side or packed. The only file of this package that imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.data.feeding.samples import Sample
from engine.labels import IGNORED_LABEL


class Slots(NamedTuple):
    """The place of one document in a batch: the slots `start` up to `stop` of a line."""

    line: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Packs:
    """Where the documents of a packed batch lie; what the model needs to keep them apart.

    `position_ids` [B, S] int64 restart with every document and with the padding behind the last one.
    """

    position_ids: Tensor
    documents: tuple[Slots, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """B lines, padded on the right to the longest of them, S tokens. A line holds one document, or a pack of several.

    `labels` has the indices of `input_ids` (not shifted): -100 where there is no loss, in padding, and for each
    document's first token. `rows` and `documents` name the documents in the same order. `packs` is None where every
    line holds one document. `real_tokens` counts without padding, `slots` is B x S.
    """

    input_ids: Tensor  # [B, S] int64
    attention_mask: Tensor  # [B, S] int64, 1 for real tokens
    labels: Tensor  # [B, S] int64
    rows: tuple[int, ...]
    documents: tuple[Slots, ...]
    packs: Packs | None
    real_tokens: int
    slots: int
    loss_tokens: int

    def pinned(self) -> Batch:
        """The same in page-locked memory, from where CUDA fetches it while the program goes on."""
        packs = self.packs and replace(self.packs, position_ids=self.packs.position_ids.pin_memory())
        return replace(self, input_ids=self.input_ids.pin_memory(), labels=self.labels.pin_memory(), packs=packs)


def collate(samples: Sequence[Sample], pad_id: int, multiple_of: int = 1) -> Batch:
    """One batch of `samples`, a line each, in order; `pad_id` fills the slots behind, without influence on the loss.

    Every line has the slots of the longest sample, rounded up to a multiple of `multiple_of`.
    """
    longest = max(map(len, samples), default=0)
    length = -(-longest // multiple_of) * multiple_of
    return _collate([[sample] for sample in samples], pad_id, is_packed=False, length=length)


def collate_packs(packs: Sequence[Sequence[Sample]], pad_id: int, length: int | None = None) -> Batch:
    """One batch of packs of samples, a line each, in order; `pad_id` fills the slots behind a pack.

    Every line has `length` slots, at least as many as the longest pack; those of the longest pack where it is None.
    """
    return _collate(packs, pad_id, is_packed=True, length=length)


def _collate(lines: Sequence[Sequence[Sample]], pad_id: int, *, is_packed: bool, length: int | None = None) -> Batch:
    assert lines and all(lines), "a batch needs at least one sample, and so does each of its lines"
    lengths = [sum(map(len, line)) for line in lines]
    width = max(lengths) if length is None else length
    assert width >= max(lengths), f"a pack of {max(lengths)} tokens does not fit into {width} slots"

    input_ids = np.full((len(lines), width), pad_id, dtype=np.int64)
    attention_mask = np.zeros_like(input_ids)
    has_loss = np.zeros(input_ids.shape, dtype=np.bool_)
    documents = []
    for number, line in enumerate(lines):
        start = 0
        for sample in line:
            stop = start + len(sample)
            input_ids[number, start:stop] = sample.input_ids
            has_loss[number, start + 1 : stop] = sample.has_loss[1:]
            documents.append(Slots(number, start, stop))
            start = stop
        attention_mask[number, :start] = 1
    return Batch(
        input_ids=torch.from_numpy(input_ids),
        attention_mask=torch.from_numpy(attention_mask),
        labels=torch.from_numpy(np.where(has_loss, input_ids, IGNORED_LABEL)),
        rows=tuple(sample.row for line in lines for sample in line),
        documents=tuple(documents),
        packs=packs_of(documents, input_ids.shape) if is_packed else None,
        real_tokens=sum(lengths),
        slots=input_ids.size,
        loss_tokens=int(np.count_nonzero(has_loss)),
    )


def packs_of(documents: Sequence[Slots], shape: Sequence[int]) -> Packs:
    """The packs of these documents in lines of `shape` [B, S]; what no document covers is padding."""
    lines, length = shape
    place = np.arange(lines * length)
    begins = np.zeros_like(place)  # of what each slot belongs to, over all lines
    begins[::length] = place[::length]
    for line, start, stop in documents:
        begins[line * length + start] = line * length + start
        if stop < length:
            begins[line * length + stop] = line * length + stop
    position_ids = (place - np.maximum.accumulate(begins)).reshape(lines, length)
    return Packs(torch.from_numpy(position_ids), tuple(documents))
