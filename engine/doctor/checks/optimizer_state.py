"""The optimizer's 8-bit state is the same after a checkpoint, and so is the next step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from engine.checkpoint.trainer_state import restore_optimizer_and_random_state, save_trainer_state
from engine.config import Train
from engine.doctor.checks.numbers import same_bits
from engine.doctor.result import Outcome, Patient, failed, ok
from engine.optim.build import build_optimizer
from engine.optim.state import state_tensors
from engine.optim.tensor_optimizer import TensorOptimizer

_SHAPES = {"layer.weight": (96, 64), "layer.bias": (64,)}
"""One tensor with 8-bit state, and one that is too small for it."""
_STEPS, _RATE = 3, 1e-3
Restore = Callable[[Path, torch.optim.Optimizer], None]


def check_optimizer_state(patient: Patient) -> Outcome:
    """Save the state of an 8-bit optimizer after a few steps, load it into a new one, and make the next step."""
    return judge(restore_optimizer_and_random_state)


def judge(restore: Restore) -> Outcome:
    """The verdict on a function that loads a saved state into an optimizer."""
    with torch.random.fork_rng(devices=[]):
        weights, optimizer = _new(_first_weights())
        for step in range(_STEPS):
            _step(weights, optimizer, step + 1)
        other_weights, other = _new({name: weight.detach().clone() for name, weight in weights.items()})
        with tempfile.TemporaryDirectory() as folder:
            save_trainer_state(Path(folder), {}, optimizer)
            restore(Path(folder), other)
        saved, loaded = list(state_tensors(optimizer.state)), list(state_tensors(other.state))
        wrong = _difference(saved, loaded)
        if wrong is None:
            _step(weights, optimizer, _STEPS + 1)
            _step(other_weights, other, _STEPS + 1)
            if not all(same_bits(weights[name], other_weights[name]) for name in weights):
                wrong = "the next step of the loaded one moves weights to another place"
    if wrong is not None:
        return failed(f"lion8bit state after save and load: {wrong}", "train.optimizer: adamw, until it is repaired")
    eight_bit = sum(tensor.numel() for tensor in saved if tensor.dtype == torch.uint8)
    return ok(f"{eight_bit:,} bytes of 8-bit state come back bit for bit, and the next step is the same")


def _difference(saved: list[Tensor], loaded: list[Tensor]) -> str | None:
    if len(saved) != len(loaded):
        return f"{len(loaded)} tensors come back of {len(saved)}"
    for one, other in zip(saved, loaded, strict=True):
        if one.dtype != other.dtype:
            return f"{one.dtype} comes back as {other.dtype}".replace("torch.", "")
        if not same_bits(one, other):
            return f"a tensor of {one.numel():,} values comes back changed"
    return None if any(one.dtype == torch.uint8 for one in saved) else "there is no 8-bit state at all"


def _first_weights() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) for name, shape in _SHAPES.items()}


def _new(weights: dict[str, Tensor]) -> tuple[dict[str, Tensor], TensorOptimizer]:
    for weight in weights.values():
        weight.requires_grad_()
    train = Train(optimizer="lion8bit", learning_rate=_RATE)
    return weights, build_optimizer(weights.items(), train)


def _step(weights: dict[str, Tensor], optimizer: TensorOptimizer, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for weight in weights.values():
        weight.grad = torch.randn(weight.shape, generator=generator)
    optimizer.begin_step(step, _RATE)
    optimizer.step()
