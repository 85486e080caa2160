"""The doctor's check of float8: content without the key, plain about what is missing, and able to fail."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from engine.config import load_config
from engine.doctor.checks import float8
from engine.doctor.result import Patient
from engine.model.float8 import float8_problem
from engine.model.float8.check import float8_error

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"


def test_nothing_is_wrong_where_no_config_asks_for_it() -> None:
    for patient in (Patient({}), Patient({}, load_config(QUICKSTART))):
        assert float8.check_float8(patient).status == "ok"
    assert (
        "could not be had here: float8 needs torchao" in float8.not_asked_for(float8_problem("L4", (8, 9), None)).found
    )
    assert "this machine could" in float8.not_asked_for(None).found


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")
def test_a_machine_without_a_gpu_is_told() -> None:
    loaded = load_config(QUICKSTART, ["--memory.float8_training=true", "--model.torch_dtype=bfloat16"])
    outcome = float8.check_float8(Patient({}, loaded))
    assert outcome.status == "failed" and "this run trains on the CPU" in outcome.found
    assert outcome.fix == "train there, or memory.float8_training: false"


def test_a_missing_library_is_told_with_its_cure() -> None:
    outcome = float8.judge(float8_problem("NVIDIA H200", (9, 0), None), None)
    assert (outcome.status, outcome.found) == ("failed", "float8 needs torchao, which is not installed")
    assert outcome.fix == "pip install 'pgs-tui[gpu]', or memory.float8_training: false"


@pytest.mark.parametrize("error", [0.9, float("nan")])
def test_wrong_products_fail(error: float) -> None:
    assert float8.judge(None, error).status == "failed"


@pytest.mark.skipif(importlib.util.find_spec("torchao") is None, reason="torchao is not installed")
def test_right_products_are_off_by_their_rounding() -> None:
    error = float8_error(torch.device("cpu"), emulate=True)
    assert 0.01 < error < 0.1
    assert float8.judge(None, error).status == "ok"
