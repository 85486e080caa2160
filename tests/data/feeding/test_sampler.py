"""The order of training."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from engine.data import EpochSampler
from engine.data.feeding.shares import Share

LENGTHS = [number * 7 % 50 + 1 for number in range(200)]


def sampler_of(count: int, batch_size: int, seed: int, **options: object) -> EpochSampler:
    return EpochSampler([1] * count, batch_size, seed, **options)  # type: ignore[arg-type]


def epoch_of(sampler: EpochSampler) -> list[int]:
    """The rows of the next epoch."""
    rows: list[int] = []
    while True:
        packs, epoch = sampler.next_batch()
        rows += [index for pack in packs for index in pack]
        if epoch.is_integer():
            return rows


@pytest.mark.parametrize(("count", "batch_size", "steps"), [(10, 4, 3), (8, 4, 2), (3, 8, 1), (1, 1, 1)])
def test_every_row_once_an_epoch(count: int, batch_size: int, steps: int) -> None:
    sampler = sampler_of(count, batch_size, seed=1)
    assert sampler.steps_per_epoch == steps
    assert sorted(epoch_of(sampler)) == list(range(count))
    assert sorted(epoch_of(sampler)) == list(range(count))


def test_the_order_differs_by_epoch_and_seed_and_is_the_same_on_every_start() -> None:
    sampler = sampler_of(100, 7, seed=1)
    first, second = epoch_of(sampler), epoch_of(sampler)
    assert first != second
    assert first != list(range(100))
    assert epoch_of(sampler_of(100, 9, seed=1)) == first
    assert epoch_of(sampler_of(100, 7, seed=2)) != first


def test_the_epoch_counts_what_will_have_been_trained() -> None:
    sampler = sampler_of(10, 4, seed=0)
    assert [sampler.next_batch()[1] for _ in range(4)] == pytest.approx([0.4, 0.8, 1.0, 1.4])


@pytest.mark.parametrize(("epochs", "steps"), [(1, 10), (1.1, 11), (0.3, 3), (0.01, 1), (3, 30), (2.05, 21)])
def test_a_part_of_an_epoch_is_rounded_up_to_whole_steps(epochs: float, steps: int) -> None:
    assert sampler_of(60, 6, seed=0).steps_in(epochs) == steps


@pytest.mark.parametrize("pack_length", [None, 64])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7, 20])
def test_a_saved_position_continues_exactly(steps: int, pack_length: int | None) -> None:
    sampler = EpochSampler(LENGTHS[:40], 4, seed=5, pack_length=pack_length)
    for _ in range(steps):
        sampler.next_batch()
    restored = EpochSampler(LENGTHS[:40], 4, seed=5, pack_length=pack_length)
    restored.load_state_dict(json.loads(json.dumps(sampler.state_dict())))
    assert [restored.next_batch() for _ in range(30)] == [sampler.next_batch() for _ in range(30)]


def test_another_batch_size_goes_on_with_the_very_next_packs() -> None:
    sampler = EpochSampler(LENGTHS, 4, seed=5, pack_length=64)
    sampler.next_batch()
    larger = EpochSampler(LENGTHS, 8, seed=5, pack_length=64)
    larger.load_state_dict(sampler.state_dict())
    assert larger.next_batch()[0] == sampler.next_batch()[0] + sampler.next_batch()[0]


def test_a_position_in_other_data_is_refused() -> None:
    state = sampler_of(10, 4, seed=5).state_dict()
    with pytest.raises(ValueError, match="count 10, this run has 11"):
        sampler_of(11, 4, seed=5).load_state_dict(state)
    with pytest.raises(ValueError, match="seed 5, this run has 6"):
        sampler_of(10, 4, seed=6).load_state_dict(state)
    with pytest.raises(ValueError, match=r"pack_length None, this run has 5; .* data\.packing"):
        sampler_of(10, 4, seed=5, pack_length=5).load_state_dict(state)
    with pytest.raises(ValueError, match="weights"):
        sampler_of(10, 4, seed=5, shares=[Share(0, 10, 2)]).load_state_dict(state)


def test_a_checkpoint_from_before_there_were_packs_goes_on_without_them() -> None:
    sampler = sampler_of(10, 4, seed=5)
    sampler.load_state_dict({"count": 10, "seed": 5, "epoch": 1, "position": 4})
    with pytest.raises(ValueError, match="pack_length"):
        sampler_of(10, 4, seed=5, pack_length=3).load_state_dict({"count": 10, "seed": 5, "epoch": 1, "position": 4})


def test_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        sampler_of(0, 4, seed=5)


def test_packs_hold_every_row_once_an_epoch_and_go_together_anew_in_each() -> None:
    sampler = EpochSampler(LENGTHS, 5, seed=3, pack_length=64)
    assert sum(LENGTHS) / (len(sampler.order) * 64) > 0.97
    first = set(sampler.order)
    assert sorted(epoch_of(sampler)) == list(range(200))
    second = set(sampler.order)
    assert sorted(epoch_of(sampler)) == list(range(200))
    assert all(sum(LENGTHS[index] for index in pack) <= 64 for pack in first | second)
    assert first != second and len(first) == len(second)
    assert sampler.steps_in(3) == 3 * sampler.steps_per_epoch == 3 * -(-len(first) // 5)


def test_packs_of_all_lengths_come_from_the_first_step_on() -> None:
    order = EpochSampler(LENGTHS, 5, seed=3, pack_length=64).order
    longest = [max(LENGTHS[index] for index in pack) for pack in order]
    falls = sum(later < earlier for earlier, later in pairwise(longest))
    assert 0.25 < falls / len(longest) < 0.75, "packing begins with the longest rows, training must not"


@pytest.mark.parametrize("pack_length", [None, 4])
def test_weights_say_how_often_the_rows_of_a_source_come(pack_length: int | None) -> None:
    shares = [Share(0, 10, 2.0), Share(10, 20, 1.0), Share(20, 31, 0.5)]
    sampler = sampler_of(31, 4, seed=2, shares=shares, pack_length=pack_length)
    over_all: Counter[int] = Counter()
    for _ in range(8):
        counts = Counter(epoch_of(sampler))
        assert all(counts[row] == 2 for row in range(10))
        assert all(counts[row] == 1 for row in range(10, 20))
        part = [row for row in range(20, 31) if counts[row]]
        assert len(part) in (5, 6) and all(counts[row] == 1 for row in part)
        over_all += counts
    assert {over_all[row] for row in range(20, 31)} == {4}, "over two epochs each row comes once"


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.75, 1.5, 2.3, 3.0])
def test_over_the_epochs_every_row_comes_equally_often(weight: float) -> None:
    sampler = sampler_of(7, 3, seed=4, shares=[Share(0, 7, weight)])
    over_all: Counter[int] = Counter()
    steps = 0
    for epochs in range(1, 21):
        while sampler.state_dict()["epoch"] < epochs:
            over_all.update(index for pack in sampler.next_batch()[0] for index in pack)
            steps += 1
        counts = [over_all[row] for row in range(7)]
        assert max(counts) - min(counts) <= 1
        assert sum(counts) == pytest.approx(7 * weight * epochs, abs=1)
        assert steps == sampler.steps_in(epochs)


def test_the_part_of_a_source_depends_on_the_seed() -> None:
    parts = [set(epoch_of(sampler_of(100, 10, seed=seed, shares=[Share(0, 100, 0.5)]))) for seed in (1, 1, 2)]
    assert parts[0] == parts[1] != parts[2]
