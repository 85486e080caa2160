"""A run that moves each weight inside the backward pass is, bit for bit, the run that moves all of them after it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.events import Step

from .conftest import Outcome
from .stack import BF16, OPTIMIZERS, PACKED, PLAIN, RELEASE, Left, assert_same, small_model

Train = Callable[..., Outcome]
SIX = ("--train.max_steps", 6, "--data.eval_dataset", "null")


def assert_release_changes_nothing(train: Train, *settings: Any) -> None:
    without, with_release = train(*SIX, *PLAIN, *settings), train(*SIX, *RELEASE, *settings)
    one, other = Left.by(without), Left.by(with_release)
    assert with_release.losses == without.losses and len(without.losses) == 6
    assert_same(other.weights, one.weights, "weights")
    assert_same(other.optimizer, one.optimizer, "optimizer")
    for mine, its in zip(with_release.of(Step), without.of(Step), strict=True):
        assert (mine.hidden_norm, mine.rows, mine.lr) == (its.hidden_norm, its.rows, its.lr)
        assert mine.grad_norm == pytest.approx(its.grad_norm, rel=1e-5)
        assert mine.moved == pytest.approx(its.moved, rel=1e-9), "the sums are taken in another order"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_all_optimizers_with_bfloat16_and_rounding_at_random(train: Train, optimizer: str) -> None:
    assert_release_changes_nothing(train, *BF16, "--train.optimizer", optimizer)


def test_float32(train: Train) -> None:
    assert_release_changes_nothing(train, "--model.torch_dtype", "float32")


@pytest.mark.parametrize("family", ["llama-tied", "llama-untied", "hybrid"])
@pytest.mark.parametrize(
    "more",
    [
        ("--train.gradient_checkpointing", "full"),
        (*PACKED, "--train.gradient_checkpointing", "selective", "--train.hyperball", "true"),
        (*PACKED, "--train.freeze_non_attention", "true"),
    ],
    ids=["full", "packs-selective-hyperball", "packs-frozen"],
)
def test_heads_packs_and_recomputation(train: Train, tmp_path: Path, family: str, more: tuple[Any, ...]) -> None:
    model = small_model(tmp_path / "models", family)
    settings = (*BF16, "--train.optimizer", "lion8bit", "--model.name_or_path", model)
    assert_release_changes_nothing(train, *settings, *more)


def test_recomputation_changes_no_bit_under_release(train: Train, tmp_path: Path) -> None:
    settings = (*SIX, *RELEASE, *BF16, "--model.name_or_path", small_model(tmp_path / "models", "hybrid"))
    runs = [train(*settings, "--train.gradient_checkpointing", how) for how in ("none", "full", "selective")]
    plain, *recomputed = [Left.by(done) for done in runs]
    for done, left in zip(runs[1:], recomputed, strict=True):
        assert done.losses == runs[0].losses
        assert_same(left.weights, plain.weights)
        assert_same(left.optimizer, plain.optimizer)


def test_a_released_step_has_moved_every_weight(train: Train, tmp_path: Path) -> None:
    """The equality above would hold as well if nothing moved."""
    model = small_model(tmp_path / "models", "llama-untied")
    settings = (*RELEASE, *BF16, "--train.lr_scheduler", "constant", "--model.name_or_path", model)
    first, last = (Left.by(train(*settings, "--train.max_steps", steps, "--train.warmup_steps", 0)) for steps in (1, 6))
    assert all(not torch.equal(first.weights[name], last.weights[name]) for name in first.weights)
