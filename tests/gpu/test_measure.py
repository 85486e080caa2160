"""Measuring on a GPU: real steps, what they took beside the estimate, and the next estimate, which knows of that."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from engine.config import Config, load_config
from engine.memory.estimate import estimate_memory
from engine.memory.estimate.model_shape import model_shape
from engine.profile.calibration import calibration_of
from engine.profile.comparison import compare
from engine.profile.gpu_to_measure import gpu_to_measure
from engine.profile.measure import measure
from engine.profile.measure_here import measure_here

from .machine import on_gpu_alone

pytestmark = [pytest.mark.gpu, on_gpu_alone]
NEAR = 0.1
"""docs/profile.md has how near estimates come; this one is about a small model, most of which is work space."""


@pytest.fixture
def small(tmp_path: Path) -> Config:
    (tmp_path / "rows.jsonl").write_text('{"input_ids": [10, 11, 12]}\n')
    settings = {
        "model": {"name_or_path": "Qwen/Qwen3-0.6B", "init": "random"},
        "data": {"dataset": "rows.jsonl", "max_seq_length": 1024},
        "train": {"per_device_batch_size": 4, "optimizer": "lion8bit", "gradient_checkpointing": "full"},
        "memory": {"gradient_release": True, "loss_chunk_tokens": 256},
    }
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(settings))
    return load_config(path, []).config


def test_steps_are_measured_and_calibrate_the_next_estimate(small: Config) -> None:
    estimate = estimate_memory(small, model_shape(small))
    told: list[str] = []
    found = measure_here(small, estimate, lambda progress: told.append(progress.what))
    measured = found.measurement
    assert measured.fits, measured.reason
    assert measured.peak_gib is not None and measured.reserved_gib is not None and measured.tok_s is not None
    assert measured.reserved_gib >= measured.peak_gib
    rows = {one.name: one for one in compare(estimate, measured)}
    for name in ("weights", "optimizer state"):
        assert rows[name].estimated == pytest.approx(rows[name].measured, rel=1e-3)
    assert rows["peak"].estimated == pytest.approx(rows["peak"].measured, rel=NEAR), "\n".join(map(str, rows.values()))
    assert told[-1] == "step 3 of 3"
    known = calibration_of(gpu_to_measure().model)
    assert known is not None, found.kept
    assert known.applied(small, estimate).peak_gib == pytest.approx(measured.peak_gib, rel=1e-3)


def test_what_is_too_large_is_a_result(small: Config) -> None:
    train = small.train.model_copy(update={"per_device_batch_size": 16, "gradient_checkpointing": "none"})
    data = small.data.model_copy(update={"max_seq_length": 32768})
    memory = small.memory.model_copy(update={"chunked_loss": False})
    too_large = small.model_copy(update={"train": train, "data": data, "memory": memory})
    measured = measure(too_large, gpu_to_measure())
    assert not measured.fits
    assert measured.reason.startswith("Out of memory before the first step")
