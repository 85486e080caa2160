"""The one form of a run's batches."""

from __future__ import annotations

import pytest

from engine.data.feeding.maker import ALIGNED, BatchMaker
from engine.data.feeding.samples import Sample, sample_of


def sample(length: int) -> Sample:
    return sample_of(length, list(range(1, length + 1)), list(range(1, length + 1)))


@pytest.mark.parametrize(("longest", "slots"), [(1, 8), (8, 8), (9, 16), (250, 256)])
def test_lines_for_compiled_layers_are_filled_up_to_a_multiple(longest: int, slots: int) -> None:
    batch = BatchMaker(pad_id=0, pack_length=None, lines=3)([[sample(1)], [sample(longest)]])
    assert batch.input_ids.shape == (3, slots) and slots % ALIGNED == 0
    assert (batch.real_tokens, batch.slots) == (1 + longest, 3 * slots)
    assert batch.input_ids[1, :longest].tolist() == list(range(1, longest + 1))
    assert int(batch.attention_mask.sum()) == 1 + longest and batch.loss_tokens == longest - 1
    assert set(batch.labels[1, longest:].tolist()) <= {-100}


def test_other_lines_are_as_long_as_the_longest() -> None:
    batch = BatchMaker(pad_id=0, pack_length=None)([[sample(3)], [sample(9)]])
    assert batch.input_ids.shape == (2, 9)
