"""How many bytes a step needs at once, counted in real runs with and without gradient release."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from engine.optim.tensor_optimizer import TensorOptimizer
from engine.train.loop import Trainer

from .conftest import Outcome
from .live_bytes import LiveBytes
from .stack import BF16, OPTIMIZERS, PLAIN, RELEASE, Left, small_model

Train = Callable[..., Outcome]
SLICE = 2**10
BYTES_FOR_AN_ELEMENT = 48
"""What the update of a slice may hold at once for each of its elements: float32 numbers, random bits, samples."""
SETTINGS = ("--train.max_steps", 2, "--data.eval_dataset", "null", "--memory.loss_chunk_tokens", 8)
FLOAT32 = 4
"""Bytes of a number."""
LARGER: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 8}


@dataclass
class Measured:
    """The most bytes at once, of all steps of the run."""

    step: int = 0
    gradients: int = 0
    update: int = 0
    """In one update, beside what was there before it."""
    all_gradients: int = 0
    largest_gradient: int = 0
    largest_matrix: int = 0
    """In elements, head and embedding not among them."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Filled by the next run."""
    found = Measured()
    step, update = Trainer.train_step, TensorOptimizer.update
    mode: list[LiveBytes] = []

    def measure_step(trainer: Trainer) -> None:
        trained = [parameter for _, parameter in trainer.trained_parameters()]
        state = [t for kept in trainer.optimizer.state.values() for t in kept.values() if isinstance(t, Tensor)]
        model = trainer.head.model
        found.all_gradients = sum(parameter.nbytes for parameter in trained)
        found.largest_gradient = max(parameter.nbytes for parameter in trained)
        found.largest_matrix = max(p.numel() for name, p in model.named_parameters() if "_proj" in name)
        with LiveBytes([*model.parameters(), *model.buffers(), *state], trained) as counting:
            mode[:] = [counting]
            step(trainer)
        found.gradients = max(found.gradients, counting.gradient_peak)
        found.step = max(found.step, most_in_step[0], counting.peak)
        most_in_step[0] = 0

    most_in_step = [0]

    def measure_update(optimizer: TensorOptimizer, *arguments: Any, **named: Any) -> None:
        counting = mode[0]
        most_in_step[0] = max(most_in_step[0], counting.peak)
        before = counting.now
        counting.forget_peak()
        update(optimizer, *arguments, **named)
        found.update = max(found.update, counting.peak - before)

    monkeypatch.setattr(Trainer, "train_step", measure_step)
    monkeypatch.setattr(TensorOptimizer, "update", measure_update)
    monkeypatch.setattr("engine.optim.tensor_optimizer.SLICE_ON_CPU", 8 * SLICE)
    return found


def take(measured: Measured) -> Measured:
    taken = Measured(**vars(measured))
    vars(measured).update(vars(Measured()))
    return taken


@pytest.mark.parametrize("family", ["llama-tied", "llama-untied", "hybrid"])
def test_release_never_holds_all_gradients(
    train: Train, tmp_path: Path, measured: Measured, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    """And with a tiled head not even that of the head."""
    monkeypatch.setattr("engine.loss.passes.TILE_BYTES", 1)  # of 256 tokens, a twelfth of the vocabulary
    more = {"layer_types": ["linear_attention", "full_attention"] * 4} if family == "hybrid" else {}
    model = small_model(tmp_path / "models", family, **LARGER, **more)
    settings = (*SETTINGS, *BF16, "--train.gradient_checkpointing", "full", "--model.name_or_path", model)
    Left.by(train(*settings, *PLAIN))
    without = take(measured)
    Left.by(train(*settings, *RELEASE))
    released = take(measured)
    assert without.gradients == without.all_gradients
    one_and_the_head = released.largest_gradient + 2 * released.largest_matrix
    assert released.gradients <= one_and_the_head < 0.4 * without.gradients
    assert released.step < without.step - released.largest_gradient, "its peak is at the head, before any update"
    Left.by(train(*settings, *RELEASE, "--memory.tiled_head", "true"))
    tiled = take(measured)
    if family == "llama-untied":  # the embedding's gradient is as large, and whole
        assert tiled.gradients == released.largest_gradient
    else:
        assert tiled.gradients < 0.3 * released.largest_gradient
        assert tiled.step < released.step - 0.7 * released.largest_gradient


@pytest.mark.parametrize(
    ("optimizer", "kind"), [("lion8bit", PLAIN), *((optimizer, RELEASE) for optimizer in OPTIMIZERS)]
)
def test_an_update_copies_a_slice_of_the_weights_at_most_or_one_matrix_on_its_sphere(
    train: Train,
    tmp_path: Path,
    measured: Measured,
    monkeypatch: pytest.MonkeyPatch,
    optimizer: str,
    kind: tuple[Any, ...],
) -> None:
    monkeypatch.setattr("engine.optim.tensor_optimizer.SLICE_ON_CPU", SLICE)
    model = small_model(tmp_path / "models", "llama-tied", **LARGER | {"num_hidden_layers": 1})
    settings = (*SETTINGS, *BF16, *kind, "--train.max_steps", 1, "--train.warmup_steps", 0)
    settings = (*settings, "--train.optimizer", optimizer, "--model.name_or_path", model)
    of_a_slice = BYTES_FOR_AN_ELEMENT * SLICE
    Left.by(train(*settings))
    free = take(measured)
    assert 0 < free.update <= of_a_slice < FLOAT32 * free.largest_matrix
    Left.by(train(*settings, "--train.hyperball", "true"))
    on_sphere = take(measured)
    assert FLOAT32 * on_sphere.largest_matrix <= on_sphere.update <= of_a_slice + FLOAT32 * on_sphere.largest_matrix
