"""What the tests of the optimizer share: one tensor under it, with gradients that depend on the step alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config.schema import Train
from engine.optim.build import build_optimizer
from engine.optim.tensor_optimizer import TensorOptimizer

Make = Callable[..., tuple[torch.nn.Parameter, TensorOptimizer]]


@pytest.fixture
def make() -> Make:
    """Returns a parameter and its optimizer; `slice_size`, and otherwise the keys of `train`."""

    def make(
        weights: Tensor, *, on_sphere: bool = False, slice_size: int | None = None, **train: Any
    ) -> tuple[torch.nn.Parameter, TensorOptimizer]:
        parameter = torch.nn.Parameter(weights.clone())
        matrices = ["proj.weight"] if on_sphere else []
        optimizer = build_optimizer([("proj.weight", parameter)], Train(**train), matrices)
        optimizer._slice_size = slice_size
        return parameter, optimizer

    return make


@pytest.fixture
def gradient_of() -> Callable[..., Tensor]:
    def gradient_of(step: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.randn(shape, generator=torch.Generator().manual_seed(step)).mul_(0.01).to(dtype)

    return gradient_of
