"""The operator `pgs::document_attention`, with an operator for its backward pass.

Whatever looks at a model's operators (selective recomputation, compilation, a trace of the memory) sees one. On a GPU
it is flash attention over lines of unequal length, as torch has it; elsewhere it is `by_document`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.model.attention import by_document


@torch.library.custom_op("pgs::document_attention", mutates_args=())
def document_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens: Tensor,
    max_length: int,
    scale: float,
    window: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Causal attention within documents one after another: outputs [T, HQ, E], and log-sum-exps, float32 [HQ, T].

    query: [T, HQ, E]; key, value: [T, HK, E] with HQ a multiple of HK. `cu_seqlens`, int32 [N + 1] on the device, says
    where documents begin, and the end; some may be empty, none is longer than `max_length`. With a `window` a token
    sees so many tokens, itself among them.
    """
    if query.device.type != "cuda":
        return by_document.forward(query, key, value, cu_seqlens, scale, window)
    outputs, log_sums, *_ = torch.ops.aten._flash_attention_forward(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        cu_seqlens,
        cu_seqlens,
        max_length,
        max_length,
        0.0,  # no dropout
        True,  # causal
        False,  # no mask to look at
        scale=scale,
        **_bounds(window),
    )
    return outputs, log_sums


@document_attention.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens: Tensor,
    max_length: int,
    scale: float,
    window: int | None = None,
) -> tuple[Tensor, Tensor]:
    outputs = torch.empty_like(query, memory_format=torch.contiguous_format)
    return outputs, query.new_empty(query.shape[1], query.shape[0], dtype=torch.float32)


@torch.library.custom_op("pgs::document_attention_backward", mutates_args=())
def document_attention_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    outputs: Tensor,
    log_sums: Tensor,
    cu_seqlens: Tensor,
    max_length: int,
    scale: float,
    window: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, each of its tensor's shape and dtype."""
    if query.device.type != "cuda":
        return by_document.backward(gradient, query, key, value, cu_seqlens, scale, window)
    of_query, of_key, of_value = torch.ops.aten._flash_attention_backward(
        gradient.contiguous(),
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        outputs,
        log_sums,
        cu_seqlens,
        cu_seqlens,
        max_length,
        max_length,
        0.0,  # no dropout
        True,  # causal
        torch.zeros(2, dtype=torch.uint64, device=query.device),  # the state of a generator that nothing asks
        query.new_empty(0),
        scale=scale,
        **_bounds(window),
    )
    return of_query, of_key, of_value


@document_attention_backward.register_fake
def _(gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor, Tensor]:
    like = torch.contiguous_format
    return (
        torch.empty_like(query, memory_format=like),
        torch.empty_like(key, memory_format=like),
        torch.empty_like(value, memory_format=like),
    )


def _bounds(window: int | None) -> dict[str, int]:
    return {} if window is None else {"window_size_left": window - 1, "window_size_right": 0}


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.set_materialize_grads(False)
    query, key, value, cu_seqlens, ctx.max_length, ctx.scale, ctx.window = inputs
    ctx.save_for_backward(query, key, value, *output, cu_seqlens)


def _gradients(ctx: Any, gradient: Tensor | None, _: Tensor | None) -> tuple[Tensor | None, ...]:
    if gradient is None:
        return (None,) * 7
    found = torch.ops.pgs.document_attention_backward(
        gradient, *ctx.saved_tensors, ctx.max_length, ctx.scale, ctx.window
    )
    return (*found, None, None, None, None)


document_attention.register_autograd(_gradients, setup_context=_keep)
