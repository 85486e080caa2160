"""Checks the operator of attention within documents against its definition in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.model.attention import by_document
from engine.model.attention.operator import document_attention

_BORDERS = (0, 1, 3, 67, 67, 200, 200)
"""Documents longer and shorter than a tile of 64 tokens, single tokens, and empty ones, as in padded borders."""
_LONGEST = 133


def gradient_error(device: torch.device, dtype: torch.dtype, heads: int, key_heads: int, width: int) -> float:
    """The largest error of the operator's outputs and gradients, each as a share of its own length.

    The inputs are rounded to `dtype` before either is computed, so what is found is the operator's own error: about
    1e-6 in float32, 5e-3 in bfloat16, and 1 for a wrong gradient.
    """
    generator = torch.Generator().manual_seed(0)

    def draw(count: int) -> Tensor:
        return torch.randn(_BORDERS[-1], count, width, generator=generator).to(device, dtype)

    inputs = [draw(count).requires_grad_() for count in (heads, key_heads, key_heads)]
    above, scale = draw(heads), width**-0.5
    borders = torch.tensor(_BORDERS, dtype=torch.int32)
    with torch.enable_grad():
        outputs, _ = document_attention(*inputs, borders.to(device), _LONGEST, scale)
        found = [outputs.detach(), *torch.autograd.grad(outputs, inputs, above)]
    above, query, key, value = (one.detach().cpu().double() for one in (above, *inputs))
    wanted = [by_document.forward(query, key, value, borders, scale, None)[0]]
    wanted += by_document.backward(above, query, key, value, borders, scale, None)
    errors = [(one.cpu().double() - two).norm() / two.norm() for one, two in zip(found, wanted, strict=True)]
    return float(torch.stack(errors).max())
