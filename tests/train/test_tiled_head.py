"""Runs with a tiled head are runs without one: the same losses, weights and optimizer state."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.events import Step
from engine.loss import passes

from .conftest import Outcome
from .stack import BF16, PACKED, RELEASE, Left, assert_same, small_model

Train = Callable[..., Outcome]
SETTINGS = (*RELEASE, "--train.max_steps", 3, "--data.eval_dataset", "null", "--memory.loss_chunk_tokens", 8)
TILED = ("--memory.tiled_head", "true")


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 256 tokens, twelve of them."""
    monkeypatch.setattr(passes, "TILE_BYTES", 1)


@pytest.mark.parametrize(
    ("family", "more"),
    [
        ("llama-tied", ("--train.optimizer", "lion8bit")),
        ("llama-untied", ("--train.optimizer", "adamw8bit")),
        ("hybrid", (*PACKED, "--train.optimizer", "lion8bit", "--train.hyperball", "true")),
        ("hybrid", ("--train.optimizer", "adamw", "--train.gradient_checkpointing", "full")),
    ],
    ids=["tied", "untied", "packed-on-sphere", "recomputed"],
)
def test_bfloat16_weights_and_state_are_the_same_bit_for_bit(
    train: Train, tmp_path: Path, family: str, more: tuple[Any, ...]
) -> None:
    settings = (*SETTINGS, *BF16, *more, "--model.name_or_path", small_model(tmp_path / "models", family))
    whole, tiled = train(*settings), train(*settings, *TILED)
    assert tiled.losses == whole.losses
    for ours, its in zip(tiled.of(Step), whole.of(Step), strict=True):
        assert ours.grad_norm == pytest.approx(its.grad_norm, rel=1e-6)
        assert ours.moved == pytest.approx(its.moved, rel=1e-9)
    assert_same(Left.by(tiled).weights, Left.by(whole).weights, "weights")
    assert_same(Left.by(tiled).optimizer, Left.by(whole).optimizer, "state")


def test_float32_weights_differ_by_the_order_of_sums_alone(train: Train, tmp_path: Path) -> None:
    """And the step's memory is told without a gradient of the head."""
    model = small_model(tmp_path / "models", "llama-tied")
    settings = (
        *SETTINGS,
        "--train.optimizer",
        "adamw",
        "--model.torch_dtype",
        "float32",
        "--model.name_or_path",
        model,
    )
    whole, tiled = (train(*settings, *more) for more in ((), TILED))
    for name, weight in Left.by(whole).weights.items():
        torch.testing.assert_close(Left.by(tiled).weights[name], weight, rtol=1e-4, atol=1e-6)
    of_whole, of_tiles = (run.of(Step)[0].mem.gradients for run in (whole, tiled))
    assert of_whole is not None and of_tiles is not None and 0 < of_tiles < of_whole / 10


def test_a_bias_moves_after_the_tiles_that_are_computed_with_it(train: Train, tmp_path: Path) -> None:
    model = small_model(tmp_path / "models", "biased")
    settings = (*SETTINGS, "--model.torch_dtype", "float32", "--model.name_or_path", model)
    settings += ("--train.max_steps", 1, "--train.learning_rate", 0.3, "--train.warmup_steps", 0)
    settings += ("--train.lr_scheduler", "constant", "--train.optimizer", "lion")
    whole, tiled = train(*settings), train(*settings, *TILED)
    assert tiled.of(Step)[0].grad_norm == pytest.approx(whole.of(Step)[0].grad_norm, rel=1e-6)
    bias = Left.by(tiled).weights["lm_head.bias"]
    assert torch.equal(bias.abs(), torch.full((3072,), 0.3)) and torch.equal(
        bias, Left.by(whole).weights["lm_head.bias"]
    )
