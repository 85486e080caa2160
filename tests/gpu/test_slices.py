"""Layers that take a batch in slices learn as well, and leave room on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.train.conftest import Outcome
from tests.train.stack import RELEASE

from .machine import HAS_GPU
from .peaks import train_and_peak
from .small import write_config

pytestmark = pytest.mark.gpu
SLICES, ROWS, LENGTH, INNER = 4, 4, 2048 if HAS_GPU else 128, 4096 if HAS_GPU else 128
GATE_UP_AND_PRODUCT = 3 * ROWS * LENGTH * INNER * 2
"""Bytes in bfloat16 that an MLP computes, all of which its backward pass needs, and as many gradients."""
SETTINGS = (
    *("--train.max_steps", 3, "--train.per_device_batch_size", ROWS, "--memory.loss_chunk_tokens", 256),
    *("--train.gradient_checkpointing", "full", *RELEASE),
)


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    more = {"intermediate_size": INNER, "max_position_embeddings": LENGTH}
    return write_config(tmp_path, "llama-tied", (LENGTH,), **more)


@pytest.mark.parametrize("compiles", ["false", "true"], ids=["eager", "compiled"])
def test_the_losses_are_the_same_and_a_layer_takes_less(train: Callable[..., Outcome], compiles: str) -> None:
    settings: tuple[Any, ...] = (*SETTINGS, "--model.compile", compiles)
    whole, peak_of_whole = train_and_peak(train, *settings)
    sliced, peak_of_sliced = train_and_peak(train, *settings, "--memory.layer_slices", SLICES)
    assert (whole.code, sliced.code) == (0, 0), sliced.end.reason
    assert sliced.losses == pytest.approx(whole.losses, rel=1e-2)
    if HAS_GPU:
        assert peak_of_whole - peak_of_sliced >= 0.5 * GATE_UP_AND_PRODUCT
