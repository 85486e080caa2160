"""What slices of the batch need beside them."""

from __future__ import annotations

import pytest

from engine.config import ConfigError
from tests.config.conftest import Load

FULL = "--train.gradient_checkpointing=full"


@pytest.mark.parametrize(
    ("flags", "reason", "advice"),
    [
        (
            ("--train.per_device_batch_size=2",),
            "gradient_checkpointing is none",
            "set train.gradient_checkpointing: full, mixers or selective, or memory.layer_slices: 1",
        ),
        (
            (FULL, "--train.per_device_batch_size=1"),
            "train.per_device_batch_size is 1",
            "set memory.layer_slices: 1, or a larger train.per_device_batch_size",
        ),
    ],
    ids=["nothing-recomputed", "too-few-lines"],
)
def test_slices_that_cannot_be_are_refused_with_a_way_out(
    load: Load, flags: tuple[str, ...], reason: str, advice: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load("", "--memory.layer_slices=2", *flags)
    [problem] = error.value.problems
    assert problem.key == "memory.layer_slices"
    assert reason in str(error.value) and advice in str(error.value)


@pytest.mark.parametrize("how", ["full", "selective"])
def test_as_many_slices_as_lines_are_taken(load: Load, how: str) -> None:
    flags = (f"--train.gradient_checkpointing={how}", "--train.per_device_batch_size=3", "--memory.layer_slices=3")
    assert load("", *flags).config.memory.layer_slices == 3


def test_no_slice_is_none(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"memory\.layer_slices"):
        load("", "--memory.layer_slices=0")
