"""What a checkpoint weighs, and whether its weights are fit to be saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from engine.checkpoint.merge import merged_bytes
from engine.checkpoint.original import Original
from engine.optim.state import state_tensors

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def saved_bytes(model: PreTrainedModel, optimizer: torch.optim.Optimizer, original: Original | None = None) -> int:
    """About how many bytes the weights and the optimizer's state take on the disk. Tied weights count once.

    With the original files the tensors in them that the model has not loaded count as well.
    """
    if original is not None:
        weights = merged_bytes(original, model)
    else:
        weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    return weights + sum(tensor.numel() * tensor.element_size() for tensor in state_tensors(optimizer.state))


@torch.no_grad()
def first_not_finite(model: nn.Module) -> str | None:
    """The name of the first weight tensor that holds NaN or infinity, or None; waits for the device once."""
    named = list(model.named_parameters())
    finite = torch.stack([torch.isfinite(parameter).all() for _, parameter in named]).tolist()
    return next((name for (name, _), is_finite in zip(named, finite, strict=True) if not is_finite), None)
