"""Estimates against what an H200 took in twenty ways to train two families of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.memory.estimate import estimate_memory
from engine.memory.estimate.model_shape import model_shape
from tests.bench.training.accuracy_rows import config_of, rows_named
from tests.bench.training.workload import PROJECT

RESULTS = json.loads((PROJECT / "docs" / "performance" / "memory_accuracy.json").read_text())
PEAK_WITHIN, RESERVED_WITHIN = 0.03, 0.08


@pytest.mark.parametrize("row", RESULTS["rows"], ids=lambda row: row["name"])
def test_an_estimate_is_what_was_measured(row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)
    monkeypatch.delenv("PYTORCH_ALLOC_CONF", raising=False)
    for name, value in row["environment"].items():
        monkeypatch.setenv(name, value)
    (one,) = rows_named(row["name"])
    config = config_of(one, tmp_path, "real")
    found = estimate_memory(config, model_shape(config))
    assert found.peak_gib == pytest.approx(row["measured"]["peak"], rel=PEAK_WITHIN)
    assert found.reserved_gib == pytest.approx(row["measured"]["reserved"], rel=RESERVED_WITHIN)
