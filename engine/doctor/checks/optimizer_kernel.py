"""The optimizer's kernel moves weights and 8-bit state to the very bits of bitsandbytes and rounding in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import torch
from torch import Tensor

from engine.config import Train
from engine.doctor.checks.numbers import same_bits
from engine.doctor.result import Outcome, Patient, failed, ok, warning
from engine.model.load import pick_device
from engine.optim.build import build_optimizer
from engine.optim.random_bits import BitStream
from engine.optim.rounding import round_stochastically
from engine.optim.rules.blockwise import bitsandbytes_rule
from engine.optim.rules.rule import BLOCK_SCALES, Settings

_SHAPES = ((300, 257), (64,))
"""A matrix with 8-bit state that ends within a block, and a vector that keeps float32 state."""
_STEPS, _RATE, _DECAY, _SEED = 5, 1e-3, 0.1, 0
Moves = Callable[[Tensor, Sequence[Tensor]], dict[str, Tensor]]
"""From weights and a gradient for each step to the weights and the state after them, by name."""


def check_optimizer_kernel(patient: Patient) -> Outcome:
    """Move bfloat16 weights a few steps by the kernel and by its parts in torch."""
    device = pick_device()
    if device.type == "cpu":
        return ok("weights are moved by torch and bitsandbytes here; the kernel is for GPUs")
    if find_spec("triton") is None:
        return warning(
            "Triton is missing, so weights are moved by many small kernels in place of one",
            "install the triton that belongs to this torch (pip install triton)",
        )
    return judge(by_optimizer, device.type)


def judge(moves: Moves, device: str = "cpu") -> Outcome:
    """The verdict on a way to move weights by Lion with 8-bit state and stochastic rounding."""
    for shape in _SHAPES:
        weights, *gradients = (_random(shape, seed).to(device, torch.bfloat16) for seed in range(_STEPS + 1))
        found, wanted = moves(weights.clone(), gradients), by_torch(weights.clone(), gradients)
        for name, tensor in wanted.items():
            if not same_bits(found[name], tensor):
                share = float((found[name] != tensor).double().mean())
                return failed(
                    f"{name} of a tensor {list(shape)} after {_STEPS} steps of the optimizer are others than by "
                    f"bitsandbytes and rounding in torch ({share:.1e} of them)",
                    "pip install -U triton bitsandbytes, or train.optimizer: adamw8bit",
                )
    return ok(f"after {_STEPS} steps weights and 8-bit state are the same bits as by bitsandbytes and torch")


def by_optimizer(weights: Tensor, gradients: Sequence[Tensor]) -> dict[str, Tensor]:
    """As a run moves them."""
    parameter = torch.nn.Parameter(weights)
    train = Train(optimizer="lion8bit", weight_decay=_DECAY, stochastic_rounding=True, seed=_SEED)
    optimizer = build_optimizer([("proj.weight", parameter)], train)
    for step, gradient in enumerate(gradients, start=1):
        optimizer.begin_step(step, _RATE)
        optimizer.update(parameter, gradient)
    kept = {name: one for name, one in optimizer.state[parameter].items() if isinstance(one, Tensor)}
    return {"weights": parameter.detach(), **kept}


@torch.no_grad()
def by_torch(weights: Tensor, gradients: Sequence[Tensor]) -> dict[str, Tensor]:
    """One step after the other: bitsandbytes on a float32 copy, then rounding with the step's random bits."""
    rule = bitsandbytes_rule("lion8bit")
    state = rule.new_state(weights)
    flat_state = {name: one if name in BLOCK_SCALES else one.view(-1) for name, one in state.items()}
    decay = _DECAY if weights.ndim >= 2 else 0.0
    for step, gradient in enumerate(gradients, start=1):
        moved = weights.view(-1).to(torch.float32, copy=True)
        settings = Settings(_RATE, Train(optimizer="lion8bit").effective_betas, rule.eps, decay, step)
        rule.move(moved, gradient.view(-1).float(), flat_state, settings)
        bits = BitStream.of(_SEED, step, 0).draw(0, len(moved), moved.device)
        weights.view(-1).copy_(round_stochastically(moved, bits))
    return {"weights": weights, **state}


def _random(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).mul_(0.02)
