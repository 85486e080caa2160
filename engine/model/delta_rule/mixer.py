"""The computation of a gated DeltaNet layer, built on the operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from engine.model.delta_rule.operators import causal_conv1d, gated_delta_rule
from engine.model.delta_rule.projections import Projections, projections_of

_CACHES = ("cache", "cache_params", "past_key_values")
_PARTS = ("conv1d", "norm", "out_proj", "A_log", "dt_bias", "head_k_dim", "head_v_dim", "key_dim", "value_dim")


def can_replace(layer: nn.Module) -> bool:
    """Whether the operators know how this layer computes."""
    has_parts = all(hasattr(layer, name) for name in _PARTS)
    return has_parts and projections_of(layer) is not None and _has_known_convolution(layer)


def replace_forward(layer: nn.Module) -> None:
    """Let this layer compute with the operators; its own computation stays for whoever passes a cache."""
    projections = projections_of(layer)
    assert projections is not None
    layer.forward = partial(_forward, layer, projections, layer.forward)


def restore_forward(layer: nn.Module) -> None:
    """Let this layer compute as it did before."""
    _, _, before = vars(layer)["forward"].args
    del layer.forward
    if layer.forward != before:  # somebody had put it there, it is not the class's
        layer.forward = before


def takes_documents(layer: nn.Module) -> bool:
    """Whether this layer keeps the documents of a line [1, T] apart by `cu_seq_lens_q` on every device."""
    return getattr(vars(layer).get("forward"), "func", None) is _forward


def _forward(
    layer: Any,
    projections: Projections,
    library_forward: Callable[..., Any],
    hidden_states: Tensor,
    *args: Any,
    attention_mask: Tensor | None = None,
    cu_seq_lens_q: Tensor | None = None,
    cu_seq_lens_cpu: Tensor | None = None,
    **kwargs: Any,
) -> Any:
    """hidden_states [B, T, hidden size] -> the same shape; attention_mask: [B, T], 0 for padding."""
    if args or any(kwargs.get(name) is not None for name in _CACHES):
        return library_forward(hidden_states, *args, attention_mask=attention_mask, **kwargs)
    if attention_mask is not None:
        hidden_states = (hidden_states * attention_mask[:, :, None]).to(hidden_states.dtype)
    mixed, gate, strength, step = projections(layer, hidden_states)
    documents = (cu_seq_lens_q, cu_seq_lens_cpu)
    mixed = causal_conv1d(mixed, layer.conv1d.weight.squeeze(1), *documents)
    query, key, value = mixed.split([layer.key_dim, layer.key_dim, layer.value_dim], dim=-1)
    outputs, _, _ = gated_delta_rule(
        query.unflatten(-1, (-1, layer.head_k_dim)),
        key.unflatten(-1, (-1, layer.head_k_dim)),
        value.unflatten(-1, (-1, layer.head_v_dim)),
        -layer.A_log.float().exp() * F.softplus(step.float() + layer.dt_bias),
        strength.sigmoid(),
        *documents,
    )  # [B, T, HV, V]
    normed = layer.norm(outputs.flatten(0, -2), gate.flatten(0, -2))  # [B x T x HV, V]
    return layer.out_proj(normed.view(*hidden_states.shape[:2], layer.value_dim))


def _has_known_convolution(layer: Any) -> bool:
    convolution = layer.conv1d
    return (
        isinstance(convolution, nn.Conv1d)
        and convolution.bias is None
        and convolution.groups == convolution.in_channels == convolution.out_channels
        and getattr(layer, "activation", None) in ("silu", "swish")
    )
