"""Layer inputs that wait in main memory come back as they were, and leave room on the GPU meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.train.conftest import Outcome
from tests.train.stack import RELEASE, Left, assert_same

from .machine import HAS_GPU
from .peaks import train_and_peak
from .small import write_config

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("deterministic")]
LAYERS, ROWS, LENGTH, WIDTH = 16, 4, 2048 if HAS_GPU else 256, 256
BOUNDARIES = LAYERS * ROWS * LENGTH * WIDTH * (2 if HAS_GPU else 4)
"""Bytes of all layers' inputs: bfloat16 on the GPU, where each is 4 MiB."""
OFFLOAD = ("--memory.offload_activations", "true")
SETTINGS = (
    *("--train.max_steps", 3, "--train.per_device_batch_size", ROWS, "--memory.loss_chunk_tokens", 256),
    *RELEASE,
)


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return write_config(tmp_path, "llama-tied", (LENGTH,), num_hidden_layers=LAYERS, max_position_embeddings=LENGTH)


@pytest.mark.parametrize("how", ["full", "selective"])
def test_the_run_is_the_same_and_the_inputs_are_gone_from_the_gpu(train: Callable[..., Outcome], how: str) -> None:
    settings: tuple[Any, ...] = (*SETTINGS, "--train.gradient_checkpointing", how)
    kept, peak_of_kept = train_and_peak(train, *settings)
    offloaded, peak_of_offloaded = train_and_peak(train, *settings, *OFFLOAD)
    assert offloaded.losses == kept.losses and len(kept.losses) == 3
    assert_same(Left.by(offloaded).weights, Left.by(kept).weights, "weights")
    if HAS_GPU:
        assert peak_of_kept - peak_of_offloaded >= 0.6 * BOUNDARIES, "a few are on their way at any time"
