"""Small updates of bfloat16 weights count on average: they are rounded at random, without bias."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.config import Train
from engine.doctor.result import Outcome, Patient, failed, ok
from engine.optim.build import build_optimizer

_WEIGHTS, _STEPS, _RATE, _SPREAD = 2**18, 16, 1e-5, 0.02
"""Weights as large as those of a trained model, moved at a rate as people use for fine-tuning."""
TOLERANCE = 0.01
"""Seven times the spread that chance gives over so many weights, 0.14 %."""
Moved = Callable[[bool], float]


def check_rounding(patient: Patient) -> Outcome:
    """Move bfloat16 weights in one direction each, at random and to nearest, and compare with what was asked."""
    return judge(moved_share)


def judge(moved: Moved) -> Outcome:
    """The verdict on what part of the intended movement weights make, rounded at random (True) or to nearest."""
    at_random, to_nearest = moved(True), moved(False)
    asked = f"of what Lion asks at a learning rate of {_RATE:g}"
    if not abs(at_random - 1) <= TOLERANCE:
        return failed(
            f"bfloat16 weights move by {at_random:.1%} {asked}, rounded at random; {1 - TOLERANCE:.0%} is the least",
            "model.torch_dtype: float32, until it is repaired",
        )
    return ok(f"bfloat16 weights move by {at_random:.1%} {asked}, and by {to_nearest:.0%} with rounding to nearest")


def moved_share(at_random: bool) -> float:
    """How far weights move after some steps, as a share of what the optimizer asked for."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(_WEIGHTS, generator=generator).mul_(_SPREAD).bfloat16())
    gradient = torch.randn(_WEIGHTS, generator=generator).bfloat16()
    begin = weight.detach().double()
    train = Train(optimizer="lion", learning_rate=_RATE, stochastic_rounding=at_random)
    optimizer = build_optimizer([("weight", weight)], train)
    for step in range(1, _STEPS + 1):
        optimizer.begin_step(step, _RATE)
        optimizer.update(weight, gradient)
    intended: Tensor = gradient.double().sign() * (-_RATE * _STEPS)
    return float(((weight.detach().double() - begin) * intended).sum() / intended.square().sum())
