"""Checks the operator of the gated delta rule against its definition, token by token in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.model.delta_rule.documents import borders_of
from engine.model.delta_rule.kernels import KernelReport, kernel_report
from engine.model.delta_rule.operators import gated_delta_rule
from engine.model.delta_rule.rule import EPSILON

__all__ = ["KernelReport", "gradient_error", "kernel_report", "recurrence"]

_HEADS = (2, 4)
_KEY_WIDTH, _VALUE_WIDTH = 64, 64
_BORDERS = (0, 67, 70, 134)
"""Documents longer and shorter than a chunk of 64 tokens, and one of just that."""


def gradient_error(device: torch.device, dtype: torch.dtype) -> float:
    """The largest error of the operator's outputs and gradients, each as a share of its own length.

    Documents of several lengths in one line; the inputs are rounded to `dtype` before either is computed, so what is
    found is the operator's own error: about 1e-6 in float32, 1e-2 in bfloat16, and 1 for a wrong gradient.
    """
    inputs, above = _example(device, dtype)
    borders = torch.tensor(_BORDERS, dtype=torch.int32)
    found = _with_gradients(inputs, above, borders.to(device))
    wanted = _exact_with_gradients(inputs, above, borders)
    errors = [(one.double().cpu() - two).norm() / two.norm() for one, two in zip(found, wanted, strict=True)]
    return float(torch.stack(errors).max())


def recurrence(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, cu_seqlens: Tensor | None
) -> Tensor:
    """The definition, one token after another; shapes as the operator's. Slow, and differentiable."""
    group = value.shape[2] // key.shape[2]
    query = _unit(query).repeat_interleave(group, dim=2).flatten(0, 1)  # [T, HV, K]
    key = _unit(key).repeat_interleave(group, dim=2).flatten(0, 1)
    borders = set(borders_of(value.shape, cu_seqlens))
    state = value.new_zeros(value.shape[2], key.shape[-1], value.shape[-1])  # [HV, K, V]
    outputs = []
    lines = zip(query, key, *(one.flatten(0, 1) for one in (value, decay, beta)), strict=True)
    for token, (q, k, v, g, b) in enumerate(lines):
        if token in borders:
            state = torch.zeros_like(state)
        state = state * g.exp()[:, None, None]
        written = b[:, None] * (v - torch.einsum("hkv,hk->hv", state, k))
        state = state + torch.einsum("hk,hv->hkv", k, written)
        outputs.append(torch.einsum("hkv,hk->hv", state, q) * key.shape[-1] ** -0.5)
    return torch.stack(outputs).view(value.shape)


def _unit(tensor: Tensor) -> Tensor:
    return tensor * (tensor.square().sum(-1, keepdim=True) + EPSILON).rsqrt()


def _example(device: torch.device, dtype: torch.dtype) -> tuple[list[Tensor], Tensor]:
    """Query, key, value, decay and beta, and the gradient of the outputs."""
    generator = torch.Generator().manual_seed(0)
    length, (heads, value_heads) = _BORDERS[-1], _HEADS

    def draw(*shape: int) -> Tensor:
        return torch.randn(1, length, *shape, generator=generator)

    query, key = draw(heads, _KEY_WIDTH), draw(heads, _KEY_WIDTH)
    value, above = draw(value_heads, _VALUE_WIDTH), draw(value_heads, _VALUE_WIDTH)
    decay = torch.nn.functional.logsigmoid(draw(value_heads) + 1).to(device)
    beta = draw(value_heads).sigmoid()
    rounded = [one.to(device, dtype) for one in (query, key, value, beta, above)]
    return [*rounded[:3], decay, rounded[3]], rounded[4]


def _with_gradients(inputs: list[Tensor], above: Tensor, borders: Tensor) -> list[Tensor]:
    inputs = [one.detach().requires_grad_() for one in inputs]
    outputs = gated_delta_rule(*inputs, borders)[0]
    return [outputs.detach(), *torch.autograd.grad(outputs, inputs, above)]


def _exact_with_gradients(inputs: list[Tensor], above: Tensor, borders: Tensor) -> list[Tensor]:
    exact = [one.detach().cpu().double().requires_grad_() for one in inputs]
    query, key, value, decay, beta = exact
    outputs = recurrence(query, key, value, decay, beta, borders)
    return [outputs.detach(), *torch.autograd.grad(outputs, exact, above.cpu().double())]
