"""The head that is updated vocabulary tile by tile: the step of the whole gradient, without its memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.events import Step
from tests.train.conftest import Outcome
from tests.train.stack import RELEASE, Left, assert_same

from .machine import HAS_GPU
from .peaks import train_and_peak
from .small import SHAPE, write_config

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("deterministic")]
VOCABULARY = 65536 if HAS_GPU else 4096
"""Several tiles of it, on the GPU."""
TILED = ("--memory.tiled_head", "true")
SETTINGS = (*RELEASE, "--data.packing", "true", "--train.lr_scheduler", "constant")
DIFFERING_SIGNS = 5e-3
"""The largest share of weights whose gradient is so near zero that the order of a sum decides its sign."""


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return write_config(tmp_path, vocab_size=VOCABULARY)


def test_one_step_moves_each_weight_as_the_whole_gradient_does(train: Callable[..., Outcome]) -> None:
    one = (*SETTINGS, "--train.max_steps", 1)
    whole, tiled = Left.by(train(*one)), Left.by(train(*one, *TILED))
    assert tiled.weights.keys() == whole.weights.keys()
    for name, weight in whole.weights.items():
        share = float((tiled.weights[name] != weight).float().mean())
        assert share <= (DIFFERING_SIGNS if "embed" in name else 0.0), (name, share)


def test_it_repeats_its_bits_learns_alike_and_has_no_gradient_of_the_head(train: Callable[..., Outcome]) -> None:
    common = (*SETTINGS, "--train.max_steps", 3)
    (whole, peak_of_whole), (tiled, peak_of_tiled) = (train_and_peak(train, *common, *more) for more in ((), TILED))
    again = train(*common, *TILED)
    assert again.losses == tiled.losses
    assert_same(Left.by(again).weights, Left.by(tiled).weights, "weights")
    for ours, its in zip(tiled.of(Step), whole.of(Step), strict=True):
        assert ours.loss == pytest.approx(its.loss, rel=1e-2)
        assert ours.grad_norm == pytest.approx(its.grad_norm, rel=2e-2)
    if HAS_GPU:
        of_head = VOCABULARY * SHAPE["hidden_size"] * 2
        assert peak_of_whole - peak_of_tiled >= 0.8 * of_head
