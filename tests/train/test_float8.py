"""Runs in float8, emulated on the CPU: they learn as without it, and what they save needs no torchao."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.model.float8 import use_float8
from engine.optim.tensor_optimizer import TensorOptimizer

from .conftest import Outcome
from .stack import BF16, PACKED, PLAIN, RELEASE, Left, assert_same, small_model

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torchao") is None, reason="torchao is not installed")
Train = Callable[..., Outcome]
FLOAT8 = ("--memory.float8_training", "true")
NO_EVAL = ("--data.eval_dataset", "null")


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key works on the CPU, and matrices of any size are worth it."""
    anywhere = partial(use_float8, emulate=True, worth_it=lambda linear: not any(n % 16 for n in linear.weight.shape))
    monkeypatch.setattr("engine.train.prepare_layers.require_float8", lambda device: None)
    monkeypatch.setattr("engine.train.prepare_layers.use_float8", anywhere)


def test_twenty_steps_reduce_the_loss_as_without_it(train: Train, emulated: None) -> None:
    settings = (*BF16, *PLAIN, "--train.max_steps", 20, "--train.learning_rate", 5e-3)
    with_it, without = train(*settings, *FLOAT8), train(*settings)
    began, ended = losses(without)[0], losses(without)[-1]
    assert ended < began - 1
    assert losses(with_it)[-1] == pytest.approx(ended, abs=0.1 * (began - ended))
    assert losses(with_it) != losses(without)


@pytest.mark.parametrize("how", ["none", "selective", "full"])
def test_release_with_frozen_weights_packs_and_spheres(
    train: Train, tmp_path: Path, emulated: None, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    updates: Counter[int] = Counter()
    update = TensorOptimizer.update

    def counted(optimizer: TensorOptimizer, parameter: torch.Tensor, *more: Any, **others: Any) -> None:
        updates[id(parameter)] += 1
        update(optimizer, parameter, *more, **others)

    model = small_model(tmp_path / "models", "hybrid")
    settings = (*BF16, *PACKED, *NO_EVAL, *FLOAT8, "--train.max_steps", 3, "--model.name_or_path", model)
    settings += ("--train.freeze_non_attention", "true", "--train.gradient_checkpointing", how)
    settings += ("--train.hyperball", "true", "--train.optimizer", "lion8bit")
    without = Left.by(train(*settings, *PLAIN))
    with monkeypatch.context() as patch:
        patch.setattr(TensorOptimizer, "update", counted)
        released = Left.by(train(*settings, *RELEASE))
    assert set(updates.values()) == {3}, "one update a step and parameter"
    assert_same(released.weights, without.weights, "weights")


def test_a_saved_model_loads_without_torchao(
    train: Train, tmp_path: Path, emulated: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = small_model(tmp_path / "models", "hybrid")
    settings = (*BF16, *NO_EVAL, "--train.max_steps", 2, "--model.name_or_path", shape)
    done, plain = train(*settings, *FLOAT8), train(*settings)
    assert Left.by(done).weights.keys() == Left.by(plain).weights.keys()
    with monkeypatch.context() as patch:
        for name in ("torchao", *(name for name in sys.modules if name.startswith("torchao."))):
            patch.setitem(sys.modules, name, None)  # to import it fails, as where it is not installed
        model, found = AutoModelForCausalLM.from_pretrained(done.run.final, output_loading_info=True)
    assert not any(found.values()), found
    assert model(model.dummy_inputs["input_ids"]).logits.isfinite().all()


def test_the_cpu_is_refused_before_anything_is_loaded(train: Train) -> None:
    done = train(*FLOAT8)
    assert done.code == 1 and "memory.float8_training: this run trains on the CPU" in str(done.end)


def losses(done: Outcome) -> list[float]:
    assert done.code == 0, done.end
    return [loss for loss in done.losses.values() if loss is not None]
