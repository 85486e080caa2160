"""The order of training, and samples in tensors."""

from __future__ import annotations

import pytest

from engine.data import EpochSampler
from engine.data.feeding.batches import collate
from engine.data.feeding.samples import sample_of


def epoch_of(sampler: EpochSampler) -> list[int]:
    return [index for _ in range(sampler.steps_per_epoch) for index in sampler.next_batch()[0]]


@pytest.mark.parametrize(("count", "batch_size", "steps"), [(10, 4, 3), (8, 4, 2), (3, 8, 1), (1, 1, 1)])
def test_every_row_once_an_epoch(count: int, batch_size: int, steps: int) -> None:
    sampler = EpochSampler(count, batch_size, seed=1)
    assert sampler.steps_per_epoch == steps
    assert sorted(epoch_of(sampler)) == list(range(count))
    assert sorted(epoch_of(sampler)) == list(range(count))


def test_the_order_differs_by_epoch_and_seed_and_is_the_same_on_every_start() -> None:
    sampler = EpochSampler(100, 7, seed=1)
    first, second = epoch_of(sampler), epoch_of(sampler)
    assert first != second
    assert first != list(range(100))
    assert epoch_of(EpochSampler(100, 9, seed=1)) == first
    assert epoch_of(EpochSampler(100, 7, seed=2)) != first


def test_the_epoch_counts_what_will_have_been_trained() -> None:
    sampler = EpochSampler(10, 4, seed=0)
    assert [sampler.next_batch()[1] for _ in range(4)] == pytest.approx([0.4, 0.8, 1.0, 1.4])


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7])
def test_a_saved_position_continues_exactly(steps: int) -> None:
    sampler = EpochSampler(10, 4, seed=5)
    for _ in range(steps):
        sampler.next_batch()
    restored = EpochSampler(10, 4, seed=5)
    restored.load_state_dict(sampler.state_dict())
    assert [restored.next_batch() for _ in range(9)] == [sampler.next_batch() for _ in range(9)]


def test_a_position_in_other_data_is_refused() -> None:
    state = EpochSampler(10, 4, seed=5).state_dict()
    with pytest.raises(ValueError, match="count 10, this run has 11"):
        EpochSampler(11, 4, seed=5).load_state_dict(state)
    with pytest.raises(ValueError, match="seed 5, this run has 6"):
        EpochSampler(10, 4, seed=6).load_state_dict(state)


def test_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        EpochSampler(0, 4, seed=5)


def test_padding_counts_apart_from_real_and_loss_tokens() -> None:
    short = sample_of(7, [1, 2, 3, 4, 5, 6], [-100, -100, -100, 4, 5, 6])
    long = sample_of(3, list(range(8)), [-100] * 6 + [6, 7])
    batch = collate([short, long], pad_id=9)
    assert (batch.rows, batch.real_tokens, batch.slots, batch.loss_tokens) == ((7, 3), 14, 16, 5)
    assert batch.input_ids.tolist() == [[1, 2, 3, 4, 5, 6, 9, 9], list(range(8))]
    assert batch.attention_mask.tolist() == [[1] * 6 + [0] * 2, [1] * 8]
    assert batch.labels.tolist() == [[-100, -100, -100, 4, 5, 6, -100, -100], [-100] * 6 + [6, 7]]


def test_the_first_token_of_a_sample_never_has_loss() -> None:
    batch = collate([sample_of(0, [5, 6], [5, 6])], pad_id=5)
    assert batch.labels.tolist() == [[-100, 6]]
    assert batch.loss_tokens == 1
