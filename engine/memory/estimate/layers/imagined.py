"""What kernels of a GPU hold while they run, allocation by allocation, in tensors of the meta device.

Each function takes and returns what its operator does. Where an allocation is read off another project's code, that is
named; what is freed before the kernel returns is freed here by `del` or by going out of sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from engine.model.delta_rule.documents import CHUNK

_CONVOLUTION_ROWS = 128
"""Tokens of one program of the convolution's backward kernel (`engine.model.delta_rule.convolution_kernels`)."""


def rule(query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, *_: Any) -> tuple[Tensor, ...]:
    """`pgs::gated_delta_rule` by flash-linear-attention 0.6: chunk_gated_delta_rule_fwd behind l2norm_fwd."""
    units = _unit(query), _unit(key)
    total, inverse = _float(decay, decay.shape), key.new_empty(*beta.shape, CHUNK)
    held = _written_values(key, value), _states(key, value), torch.empty_like(value)
    outputs = _contiguous(value)
    del units, held
    return outputs, total, inverse


def rule_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    beta: Tensor,
    *_: Any,
) -> tuple[Tensor, ...]:
    """`pgs::gated_delta_rule_backward`: chunk_gated_delta_rule_bwd between l2norm_fwd and l2norm_bwd."""
    shared = value.shape[2] != key.shape[2]
    units = _unit(query), _unit(key)
    held = _written_values(key, value), _states(key, value), torch.empty_like(value)
    of_values = _contiguous(value)
    of_states, of_values = _states(key, value), _contiguous(value)
    of_query, of_key, of_readers = (_by_value_head(key, value) for _ in range(3))
    of_decay = _float(decay, (2, *decay.shape)).sum(0)
    if shared:
        of_query = _contiguous(query)
        of_key = _contiguous(key)
    second_of_key, through_values = _by_value_head(key, value), _contiguous(value)
    of_beta, second_of_decay = _contiguous(beta), _float(decay, decay.shape)
    if shared:
        second_of_key = _contiguous(key)
    of_values = through_values
    del held, of_states, of_readers, second_of_key, second_of_decay
    of_query = _contiguous(query)
    of_key = _contiguous(key)
    del units
    return of_query, of_key, of_values, of_decay, of_beta


def convolution_backward(
    of_query: Tensor, of_key: Tensor, of_value: Tensor, inputs: Tensor, weight: Tensor, *_: Any
) -> tuple[Tensor, Tensor]:
    """`pgs::causal_conv1d_backward` by our own kernel: a sum of each program for every weight."""
    of_inputs = _contiguous(inputs)
    programs = -(-inputs.shape[0] * inputs.shape[1] // _CONVOLUTION_ROWS)
    sums = _float(inputs, (programs, weight.shape[1], inputs.shape[2]))
    of_weight = _contiguous(weight)
    del sums
    return of_inputs, of_weight


def convolution(inputs: Tensor, weight: Tensor, key_width: int, *_: Any) -> tuple[Tensor, ...]:
    """`pgs::causal_conv1d`: queries, keys and values, each contiguous."""
    widths = (key_width, key_width, inputs.shape[2] - 2 * key_width)
    return tuple(inputs.new_empty(*inputs.shape[:2], width) for width in widths)


def cudnn_attention_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """`aten::_scaled_dot_product_cudnn_attention_backward`: queries' gradients are summed up in float32."""
    summed = _float(query, query.shape), _float(query, query.shape[:3])
    found = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
    del summed
    return found


def document_attention(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """`pgs::document_attention` by flash attention: outputs and log-sum-exps."""
    return _contiguous(query), _float(query, (query.shape[1], query.shape[0]))


def document_attention_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """`pgs::document_attention_backward` by flash attention 2: sums in float32, and keys' gradients by query head."""
    summed = _float(query, query.shape), _float(query, query.shape[:2])
    of_query, of_key, of_value = _contiguous(query), _contiguous(key), _contiguous(value)
    by_query_head = (_contiguous(query), _contiguous(query)) if query.shape[1] != key.shape[1] else ()
    del summed, by_query_head
    return of_query, of_key, of_value


IMAGINED: Mapping[str, Callable[..., Any]] = {
    "pgs::gated_delta_rule": rule,
    "pgs::gated_delta_rule_backward": rule_backward,
    "pgs::causal_conv1d": convolution,
    "pgs::causal_conv1d_backward": convolution_backward,
    "pgs::document_attention": document_attention,
    "pgs::document_attention_backward": document_attention_backward,
    "aten::_scaled_dot_product_cudnn_attention_backward": cudnn_attention_backward,
}
"""By the operator's name."""


def _contiguous(like: Tensor) -> Tensor:
    return torch.empty_like(like, memory_format=torch.contiguous_format)


def _float(like: Tensor, shape: Any) -> Tensor:
    return like.new_empty(shape, dtype=torch.float32)


def _unit(heads: Tensor) -> tuple[Tensor, Tensor]:
    """Heads [B, T, H, K] brought to length 1, and their lengths."""
    return _contiguous(heads), _float(heads, heads.shape[:3])


def _written_values(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The w and u of each chunk's WY form."""
    return _by_value_head(key, value), torch.empty_like(value)


def _by_value_head(key: Tensor, value: Tensor) -> Tensor:
    """Keys, or their gradients, for each value head: [B, T, HV, K]."""
    return key.new_empty(*value.shape[:3], key.shape[-1])


def _states(key: Tensor, value: Tensor) -> Tensor:
    """A state [K, V] before each chunk of each line."""
    lines, length, heads, width = value.shape
    return key.new_empty(lines, -(-length // CHUNK), heads, key.shape[-1], width)
