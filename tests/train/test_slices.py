"""Runs whose layers take each batch in slices: the losses and weights of runs without."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.events import Step
from engine.model.compiled import compile_layers
from engine.train import prepare_layers

from .conftest import Outcome
from .stack import PACKED, RELEASE, Left, small_model

Train = Callable[..., Outcome]
LINES = ("--train.gradient_checkpointing", "full", "--train.per_device_batch_size", 3)
SLICES = ("--memory.layer_slices", 2)
LESS = (*RELEASE, "--memory.tiled_head", "true", "--memory.offload_activations", "true")
STEPS = ("--train.max_steps", 4, "--data.eval_dataset", "null", "--data.eval_every", "null")


def assert_like(sliced: Outcome, whole: Outcome) -> None:
    assert (sliced.code, whole.code) == (0, 0)
    for ours, its in zip(sliced.of(Step), whole.of(Step), strict=True):
        assert ours.loss == pytest.approx(its.loss, rel=1e-4)
        assert ours.grad_norm == pytest.approx(its.grad_norm, rel=1e-3)
        assert (ours.rows, ours.tokens) == (its.rows, its.tokens)
    mine, its_weights = Left.by(sliced).weights, Left.by(whole).weights
    assert mine.keys() == its_weights.keys()
    for name, weight in mine.items():
        assert (weight - its_weights[name]).norm() <= 1e-4 * its_weights[name].norm(), name


@pytest.mark.parametrize("settings", [(*LESS, *PACKED), ("--train.gradient_accumulation_steps", 2)], ids=["all", "two"])
def test_release_tiled_head_packs_and_inputs_in_main_memory(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: tuple[Any, ...]
) -> None:
    model = small_model(tmp_path, "hybrid")
    settings = ("--model.name_or_path", model, *settings, *LINES, *STEPS)
    whole = train(*settings)
    assert "slices" not in capsys.readouterr().out
    sliced = train(*settings, *SLICES)
    assert "2 layers take a batch in 2 slices, one after another" in capsys.readouterr().out
    assert_like(sliced, whole)


def test_nothing_is_compiled_after_the_rehearsal(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of other lengths, and three lines in slices of two sizes; graphs are the compiler's, the code is torch's."""
    torch._dynamo.reset()
    monkeypatch.setattr(prepare_layers, "compile_layers", partial(compile_layers, backend="aot_eager"))
    settings = ("--model.name_or_path", small_model(tmp_path, "llama-tied"), *LESS, *LINES, *STEPS)
    settings += ("--data.max_seq_length", 160)
    whole = train(*settings)
    sliced = train(*settings, *SLICES, "--model.compile", "true")
    assert_like(sliced, whole)
    steps = sliced.of(Step)
    assert len({step.slots for step in steps}) > 1
    assert [step.recompiles for step in steps] == [0] * len(steps)
    assert "compiled 2 graphs in" in capsys.readouterr().out
