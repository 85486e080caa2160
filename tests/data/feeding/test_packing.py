"""Which samples share a line of tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data import EpochSampler
from engine.data.feeding.packing import best_fit, fill_of
from tests.data.conftest import Prepare, chat


@pytest.mark.parametrize(
    ("limit", "packs", "share"),
    [(8, [{5, 3}, {4}], 0.75), (9, [{5, 4}, {3}], 2 / 3), (12, [{5, 4, 3}], 1.0)],
)
def test_each_goes_where_it_leaves_the_least_space(limit: int, packs: list[set[int]], share: float) -> None:
    lengths = [5, 4, 3]
    found = best_fit(lengths, limit)
    assert [{lengths[index] for index in pack} for pack in found] == packs
    assert fill_of(found, lengths, limit).share == pytest.approx(share)


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(40, 90))
def test_every_sample_is_whole_in_one_pack_and_no_two_packs_could_be_one(lengths: list[int], limit: int) -> None:
    packs = best_fit(lengths, limit)
    assert sorted(index for pack in packs for index in pack) == list(range(len(lengths)))
    loads = sorted(sum(lengths[index] for index in pack) for pack in packs)
    assert all(load <= limit for load in loads)
    assert len(loads) < 2 or loads[0] + loads[1] > limit


def test_a_limit_above_a_power_of_two_packs_as_well_as_one_at_it() -> None:
    lengths = [number % 300 + 1 for number in range(3000)]
    shares = [fill_of(best_fit(lengths, limit), lengths, limit).share for limit in (512, 513, 1023, 1024, 1025)]
    assert min(shares) > 0.99


def test_a_sample_longer_than_a_pack_is_refused() -> None:
    with pytest.raises(ValueError, match="9 tokens does not fit into a pack of 8"):
        best_fit([3, 9], 8)


SHORT_TURNS = "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<|eot|>' }}{% endfor %}"


def test_what_the_limit_cuts_off_is_in_no_pack(prepare_rows: Prepare) -> None:
    rows: list[Any] = [chat("Why?!", "Because!"), chat("Why?!", "So it.")]
    long = prepare_rows(*rows, template=SHORT_TURNS)
    assert [len(sample) for sample in long.data.train] == [17, 15]

    cut = prepare_rows(*rows, template=SHORT_TURNS, max_seq_length=12)
    assert (cut.data.report.rows_truncated, cut.data.report.rows_without_end) == (2, 2)
    assert len(long.data.train[0]) - len(cut.data.train[0]) == 5
    assert len(long.data.train[1]) - len(cut.data.train[1]) == 3
    sampler = EpochSampler(cut.data.train.lengths.tolist(), 2, seed=0, pack_length=12)
    packs, _ = sampler.next_batch()
    assert sorted(packs) == [(0,), (1,)]
    for (index,) in packs:
        whole, kept = long.data.train[index], cut.data.train[index]
        assert kept.input_ids.tolist() == whole.input_ids[:12].tolist()
