"""What a checkpoint weighs, and whether its weights are fit to be saved."""

from __future__ import annotations

import torch
from torch import nn

from engine.optim.state import state_tensors


def saved_bytes(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """About how many bytes the model's weights and the optimizer's state take on the disk. Tied weights count once."""
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    return weights + sum(tensor.numel() * tensor.element_size() for tensor in state_tensors(optimizer.state))


@torch.no_grad()
def first_not_finite(model: nn.Module) -> str | None:
    """The name of the first weight tensor that holds NaN or infinity, or None; waits for the device once."""
    named = list(model.named_parameters())
    finite = torch.stack([torch.isfinite(parameter).all() for _, parameter in named]).tolist()
    return next((name for (name, _), is_finite in zip(named, finite, strict=True) if not is_finite), None)
