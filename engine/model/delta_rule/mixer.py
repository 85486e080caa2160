"""The computation of a gated DeltaNet layer, built on the operators."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from engine.model.delta_rule.operators import causal_conv1d, gated_delta_rule
from engine.model.delta_rule.projections import projections_of

_CACHES = ("cache", "cache_params", "past_key_values")
_PARTS = ("conv1d", "norm", "out_proj", "A_log", "dt_bias", "head_k_dim", "head_v_dim", "key_dim", "value_dim")
_BEFORE = "_forward_before_operators"


def can_replace(layer: nn.Module) -> bool:
    """Whether the operators know how this layer computes."""
    has_parts = all(hasattr(layer, name) for name in _PARTS)
    return has_parts and projections_of(layer) is not None and _has_known_convolution(layer)


def replace_forward(layer: nn.Module) -> None:
    """Let this layer compute with the operators; its own computation stays for whoever passes a cache.

    The layer's class changes, not an attribute of the layer: layers of one class remain alike for a compiler.
    """
    before = vars(layer).pop("forward", None)
    own: Any = type(layer)
    layer.__class__ = _with_operators(own)
    if before is not None:
        vars(layer)[_BEFORE] = before


def restore_forward(layer: nn.Module) -> None:
    """Let this layer compute as it did before."""
    layer.__class__ = type(layer).__mro__[2]  # below the class of `_with_operators` and `OperatorForward`
    before = vars(layer).pop(_BEFORE, None)
    if before is not None:  # somebody had put it there, it is not the class's
        layer.forward = before


def takes_documents(layer: nn.Module) -> bool:
    """Whether this layer keeps the documents of a batch apart by `cu_seq_lens_q` on every device."""
    return isinstance(layer, OperatorForward)


class OperatorForward:
    """The forward pass with the operators, put before that of a layer's own class."""

    def forward(
        self: Any,
        hidden_states: Tensor,
        *args: Any,
        attention_mask: Tensor | None = None,
        cu_seq_lens_q: Tensor | None = None,
        cu_seq_lens_cpu: Tensor | None = None,
        document_places: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """hidden_states [B, T, hidden size] -> the same shape; attention_mask: [B, T], 0 for padding.

        `cu_seq_lens_q`, int32 [N + 1], says where documents begin in the B lines one after another, and the end; then
        the batch counts as one line. `document_places`, int32 [B, T], may say the same: how many tokens of its document
        stand before each.
        """
        if args or any(kwargs.get(name) is not None for name in _CACHES):
            return super().forward(hidden_states, *args, attention_mask=attention_mask, **kwargs)  # type: ignore[misc]
        if attention_mask is not None:
            hidden_states = (hidden_states * attention_mask[:, :, None]).to(hidden_states.dtype)
        lines = hidden_states.shape[:2]
        if cu_seq_lens_q is not None:
            hidden_states = hidden_states.flatten(0, 1)[None]  # [1, B x T, hidden size]
        return _mixed(self, hidden_states, cu_seq_lens_q, cu_seq_lens_cpu, document_places).view(*lines, -1)


@cache
def _with_operators(layer_class: type[nn.Module]) -> type[nn.Module]:
    """The class, under its own name, with the operators' forward pass."""
    return type(layer_class.__name__, (OperatorForward, layer_class), {"__module__": layer_class.__module__})


def _mixed(
    layer: Any, hidden: Tensor, cu_seqlens: Tensor | None, cu_seqlens_cpu: Tensor | None, places: Tensor | None
) -> Tensor:
    """hidden [B, T, hidden size] -> the same shape."""
    projections = projections_of(layer)
    assert projections is not None
    mixed, gate, strength, step = projections(layer, hidden)
    documents = (cu_seqlens, cu_seqlens_cpu)
    query, key, value = causal_conv1d(mixed, layer.conv1d.weight.squeeze(1), layer.key_dim, *documents, places)
    outputs, _, _ = gated_delta_rule(
        query.unflatten(-1, (-1, layer.head_k_dim)),
        key.unflatten(-1, (-1, layer.head_k_dim)),
        value.unflatten(-1, (-1, layer.head_v_dim)),
        -layer.A_log.float().exp() * F.softplus(step.float() + layer.dt_bias),
        strength.sigmoid(),
        *documents,
    )  # [B, T, HV, V]
    normed = layer.norm(outputs.flatten(0, -2), gate.flatten(0, -2))  # [B x T x HV, V]
    projected: Tensor = layer.out_proj(normed.view(*hidden.shape[:2], layer.value_dim))
    return projected


def _has_known_convolution(layer: Any) -> bool:
    convolution = layer.conv1d
    return (
        isinstance(convolution, nn.Conv1d)
        and convolution.bias is None
        and convolution.groups == convolution.in_channels == convolution.out_channels
        and getattr(layer, "activation", None) in ("silu", "swish")
    )
