"""Attention in a trace as a GPU would run it: on the meta device torch takes a path that holds all scores."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.model.attention.operator import document_attention

NAME = "pgs_traced_attention"
_LIBRARY_CHOOSES = ("sdpa", None)
_KERNEL_TYPES = (torch.bfloat16, torch.float16)


def trace_attention(text_config: Any) -> bool:
    """Let models of this config attend by `attend`; False for those that compute all scores themselves."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if getattr(text_config, "_attn_implementation", None) not in _LIBRARY_CHOOSES:
        return False
    ALL_ATTENTION_FUNCTIONS.register(NAME, attend)
    text_config._attn_implementation = NAME
    return True


def attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    cu_seq_lens_q: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """As the library's models want it: [B, S, HQ, E], and no weights. query: [B, HQ, S, E]; key, value: [B, HK, S, E].

    Of packs it is the operator of documents, where values are as wide as keys. Otherwise it is cuDNN's operation, which
    holds a little more than flash attention does. Float32, for which those have no kernel, takes the memory-efficient
    one, or holds all scores where query heads share keys.
    """
    is_of_packs = attention_mask is not None and attention_mask.numel() == 0
    if is_of_packs and cu_seq_lens_q is not None and query.shape[-1] == value.shape[-1]:
        lines, _heads, length, _width = query.shape
        joined = (one.transpose(1, 2).flatten(0, 1) for one in (query, key, value))  # [B x S, H, E]
        outputs, _sums = document_attention(*joined, cu_seq_lens_q, length, scaling or 1.0)
        return outputs.unflatten(0, (lines, length)), None
    if query.dtype in _KERNEL_TYPES:
        outputs = torch.ops.aten._scaled_dot_product_cudnn_attention(
            query, key, value, None, True, 0.0, True, False, scale=scaling
        )[0]
    elif key.shape[1] == query.shape[1]:
        outputs = torch.ops.aten._scaled_dot_product_efficient_attention(
            query, key, value, None, True, 0.0, True, scale=scaling
        )[0]
    else:
        outputs = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=scaling, enable_gqa=True
        )
    return outputs.transpose(1, 2).contiguous(), None
