"""With kernels that add up in a fixed order, gradient release changes no bit of a run on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.events import Step
from tests.train.conftest import Outcome
from tests.train.stack import BF16, RELEASE, Left, assert_same
from tests.train.test_release import assert_release_changes_nothing

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("deterministic")]
PACKED = ("--data.packing", "true", "--data.max_seq_length", 256)


def test_a_run_repeats_itself_to_the_last_bit(train: Callable[..., Outcome]) -> None:
    """Where this fails, what follows fails for the same reason: something adds up in no fixed order."""
    settings = (*BF16, *RELEASE, *PACKED, "--train.gradient_checkpointing", "selective", "--train.max_steps", 3)
    one, other = train(*settings), train(*settings)
    assert [(step.loss, step.hidden_norm) for step in one.of(Step)] == [
        (step.loss, step.hidden_norm) for step in other.of(Step)
    ]
    assert_same(Left.by(one).weights, Left.by(other).weights)


@pytest.mark.parametrize(
    "settings",
    [
        ("--train.gradient_checkpointing", "full"),
        (*PACKED, "--train.gradient_checkpointing", "selective", "--train.hyperball", "true"),
        (*PACKED, "--train.freeze_non_attention", "true"),
    ],
    ids=["full", "packs-selective-hyperball", "packs-frozen"],
)
def test_lion_in_8_bits_with_rounding_at_random(train: Callable[..., Outcome], settings: tuple[Any, ...]) -> None:
    assert_release_changes_nothing(train, *BF16, "--train.optimizer", "lion8bit", *settings)
