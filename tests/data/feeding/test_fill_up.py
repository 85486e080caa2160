"""The last batch of an epoch has as many lines as the others when the layers are compiled."""

from __future__ import annotations

import torch

from engine.data.feeding.batches import collate, collate_packs
from engine.data.feeding.fill_up import filled_up
from engine.data.feeding.samples import sample_of


def test_lines_of_padding_have_no_loss_and_are_no_row() -> None:
    samples = [sample_of(row, [5, 6, 7], [5, 6, 7]) for row in range(3)]
    batch = filled_up(collate(samples[:2], 9), 4, 9)
    assert batch.input_ids[2:].tolist() == [[9, 9, 9]] * 2 and batch.input_ids.shape == (4, 3)
    assert not batch.attention_mask[2:].any() and (batch.labels[2:] == -100).all()
    assert (batch.rows, batch.real_tokens, batch.loss_tokens, batch.slots) == ((0, 1), 6, 4, 12)
    packed = filled_up(collate_packs([samples[:2], samples[2:]], 9), 3, 9)
    assert packed.packs is not None and packed.packs.position_ids[2].tolist() == [0, 1, 2, 3, 4, 5]
    assert len(packed.packs.documents) == 3


def test_a_full_batch_stays_as_it_is() -> None:
    batch = collate([sample_of(0, [5, 6], [5, 6])], 0)
    assert filled_up(batch, 1, 0) is batch and torch.equal(batch.input_ids, torch.tensor([[5, 6]]))
