"""What the projections of a gated DeltaNet layer make of hidden vectors, in the one form that the operators take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Projected(NamedTuple):
    """The inputs of the convolution and of what follows it."""

    mixed: Tensor  # [B, T, 2 H K + HV V]: queries, keys and values
    gate: Tensor  # [B, T, HV, V]
    strength: Tensor  # [B, T, HV], before the sigmoid
    step: Tensor  # [B, T, HV], before the softplus


Projections = Callable[[Any, Tensor], Projected]


def projections_of(layer: nn.Module) -> Projections | None:
    """How this layer projects; None for a layer of another make."""
    for names, projections in ((_APART, _apart), (_TOGETHER, _together)):
        if all(isinstance(getattr(layer, name, None), nn.Module) for name in names):
            return projections
    return None


_APART = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")
_TOGETHER = ("in_proj_qkvz", "in_proj_ba")


def _apart(layer: Any, hidden: Tensor) -> Projected:
    """As in Qwen3.5. hidden: [B, T, hidden size]."""
    gate = layer.in_proj_z(hidden).unflatten(-1, (-1, layer.head_v_dim))
    return Projected(layer.in_proj_qkv(hidden), gate, layer.in_proj_b(hidden), layer.in_proj_a(hidden))


def _together(layer: Any, hidden: Tensor) -> Projected:
    """As in Qwen3-Next: for each key head its query, key, values and gates, and its strengths and steps."""
    values = layer.num_v_heads // layer.num_k_heads * layer.head_v_dim
    per_head = layer.in_proj_qkvz(hidden).unflatten(-1, (layer.num_k_heads, -1))
    query, key, value, gate = per_head.split([layer.head_k_dim, layer.head_k_dim, values, values], dim=-1)
    strength, step = layer.in_proj_ba(hidden).unflatten(-1, (layer.num_k_heads, -1)).chunk(2, dim=-1)
    return Projected(
        torch.cat([query.flatten(-2), key.flatten(-2), value.flatten(-2)], dim=-1),
        gate.flatten(-2).unflatten(-1, (-1, layer.head_v_dim)),
        strength.flatten(-2),
        step.flatten(-2),
    )
