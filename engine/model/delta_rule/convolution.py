"""The short causal convolution of a gated DeltaNet layer with its SiLU in torch, forward and backward, on any device.

y_t = silu(sum over w of weight[:, W - 1 - w] * x_{t - w}), with nothing before the first token of a document.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.model.delta_rule.documents import borders_of, places_in_documents


def forward(inputs: Tensor, weight: Tensor, cu_seqlens: Tensor | None) -> Tensor:
    """inputs: [B, T, D]; weight: [D, W] -> [B, T, D], computed in float32 (float64 for float64)."""
    convolved, _ = _convolved(inputs, weight, cu_seqlens)
    return F.silu(convolved).to(inputs.dtype).view(inputs.shape)


def backward(gradient: Tensor, inputs: Tensor, weight: Tensor, cu_seqlens: Tensor | None) -> tuple[Tensor, Tensor]:
    """The gradients of inputs and weight, for the gradient [B, T, D] of the outputs."""
    convolved, places = _convolved(inputs, weight, cu_seqlens)
    sigmoid = convolved.sigmoid()
    above = gradient.flatten(0, 1) * (sigmoid * (1 + convolved * (1 - sigmoid)))  # [B x T, D]
    line = inputs.flatten(0, 1).to(above.dtype)
    width = weight.shape[1]
    of_inputs = torch.zeros_like(line, memory_format=torch.contiguous_format)
    of_weight = torch.empty_like(weight, dtype=above.dtype, memory_format=torch.contiguous_format)
    for back in range(min(width, len(line))):
        reaching = above[back:] * (places[back:, None] >= back)
        of_inputs[: len(line) - back] += reaching * weight[:, width - 1 - back]
        of_weight[:, width - 1 - back] = (reaching * line[: len(line) - back]).sum(0)
    of_weight[:, : max(0, width - len(line))] = 0
    return of_inputs.to(inputs.dtype).view(inputs.shape), of_weight.to(weight.dtype)


def _convolved(inputs: Tensor, weight: Tensor, cu_seqlens: Tensor | None) -> tuple[Tensor, Tensor]:
    """Before the activation [B x T, D], and the places of the tokens in their documents [B x T]."""
    line = inputs.flatten(0, 1).to(torch.promote_types(inputs.dtype, torch.float32))
    places = places_in_documents(borders_of(inputs.shape, cu_seqlens), inputs.device)
    width = weight.shape[1]
    convolved = line * weight[:, width - 1]
    for back in range(1, min(width, len(line))):
        within = places[back:, None] >= back
        convolved[back:] += line[: len(line) - back] * within * weight[:, width - 1 - back]
    return convolved, places
