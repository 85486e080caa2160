"""The operators `pgs::gated_delta_rule` and `pgs::causal_conv1d`, each with an operator for its backward pass.

Whatever looks at a model's operators (selective recomputation, compilation, a trace of the memory) sees one for a rule
and one for a convolution. Both take documents of one line [1, T, ...] by `cu_seqlens`, int32 [N + 1] on the device,
and once more on the host, so that the kernels' launch does not wait for the device.

What the backward pass keeps: the inputs; on a GPU with kernels also two more outputs of the rule, which are empty
elsewhere, where the forward pass is computed once more.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.model.delta_rule import convolution, rule
from engine.model.delta_rule.documents import CHUNK, places_by_borders
from engine.model.delta_rule.kernels import Borders, kernels, kernels_run_on, own_convolution, own_kernel_convolves


@torch.library.custom_op("pgs::gated_delta_rule", mutates_args=())
def gated_delta_rule(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    beta: Tensor,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gated delta rule (`rule` has the formula): outputs [B, T, HV, V], and two tensors for the backward pass.

    query, key: [B, T, H, K], brought to length 1 here; value: [B, T, HV, V]; decay (float32, in log space), beta:
    [B, T, HV].
    """
    if _has_kernels(value):
        return kernels().rule(query, key, value, decay, beta, Borders(cu_seqlens, cu_seqlens_cpu))
    borders = cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu
    outputs = rule.forward(query, key, value, decay, beta, borders)
    return outputs, value.new_empty(0, dtype=torch.float32), value.new_empty(0)


@gated_delta_rule.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    beta: Tensor,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    outputs = torch.empty_like(value, memory_format=torch.contiguous_format)
    if not _has_kernels(value):
        return outputs, value.new_empty(0, dtype=torch.float32), value.new_empty(0)
    return outputs, decay.new_empty(decay.shape, dtype=torch.float32), key.new_empty(*beta.shape, CHUNK)


@torch.library.custom_op("pgs::gated_delta_rule_backward", mutates_args=())
def gated_delta_rule_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    beta: Tensor,
    total: Tensor,
    inverse: Tensor,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value, decay and beta, each of its tensor's shape and dtype."""
    if _has_kernels(value):
        borders = Borders(cu_seqlens, cu_seqlens_cpu)
        found = kernels().rule_gradients(gradient, query, key, value, beta, total, inverse, borders)
        of_query, of_key, of_value, of_decay, of_beta = (one.contiguous() for one in found)  # as a graph expects them
        return of_query.to(query), of_key.to(key), of_value.to(value), of_decay.to(decay), of_beta.to(beta)
    on_host = cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu
    return rule.backward(gradient, query, key, value, decay, beta, on_host)


@gated_delta_rule_backward.register_fake
def _(gradient: Tensor, *inputs: Any, **_: Any) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(one, memory_format=torch.contiguous_format) for one in inputs[:5])


@torch.library.custom_op("pgs::causal_conv1d", mutates_args=())
def causal_conv1d(
    inputs: Tensor,
    weight: Tensor,
    key_width: int,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The causal convolution with SiLU of queries, keys and values side by side, as the rule takes them: contiguous.

    inputs: [B, T, D], weight: [D, W] -> query and key [B, T, key_width], value [B, T, D - 2 key_width]. `places`, int32
    [B x T] in any shape, may come along with `cu_seqlens`: how many tokens of its document stand before each token;
    made here where it is needed and does not.
    """
    if own_kernel_convolves(inputs, weight):
        places = _places(inputs, cu_seqlens, places)
        query, key, value = own_convolution().forward(inputs, weight, key_width, places)
        return query, key, value
    mixed = convolution.forward(inputs, weight, cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu)
    sections = mixed.split_with_sizes(_widths(inputs, key_width), dim=-1)
    query, key, value = (one.clone(memory_format=torch.contiguous_format) for one in sections)
    return query, key, value


@causal_conv1d.register_fake
def _(
    inputs: Tensor,
    weight: Tensor,
    key_width: int,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = (inputs.new_empty(*inputs.shape[:2], width) for width in _widths(inputs, key_width))
    return query, key, value


@torch.library.custom_op("pgs::causal_conv1d_backward", mutates_args=())
def causal_conv1d_backward(
    of_query: Tensor,
    of_key: Tensor,
    of_value: Tensor,
    inputs: Tensor,
    weight: Tensor,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradients of inputs and weight, for those of query, key and value."""
    if own_kernel_convolves(inputs, weight):
        places = _places(inputs, cu_seqlens, places)
        of_inputs, of_weight = own_convolution().backward(of_query, of_key, of_value, inputs, weight, places)
        return of_inputs, of_weight
    gradient = torch.cat([of_query, of_key, of_value], dim=-1)  # [B, T, D]
    on_host = cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu
    return convolution.backward(gradient, inputs, weight, on_host)


@causal_conv1d_backward.register_fake
def _(
    of_query: Tensor,
    of_key: Tensor,
    of_value: Tensor,
    inputs: Tensor,
    weight: Tensor,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    like = torch.contiguous_format
    return torch.empty_like(inputs, memory_format=like), torch.empty_like(weight, memory_format=like)


def _keep_for_rule(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:5], *output[1:], *inputs[5:])


def _rule_gradients(ctx: Any, gradient: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if gradient is None:
        return (None,) * 7
    found = torch.ops.pgs.gated_delta_rule_backward(gradient, *ctx.saved_tensors)
    return (*found, None, None)


def _keep_for_convolution(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    tensors, documents = inputs[:2], inputs[3:]
    ctx.save_for_backward(*tensors, *documents)


def _convolution_gradients(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
    found = torch.ops.pgs.causal_conv1d_backward(*gradients, *ctx.saved_tensors)  # zeros for an output without gradient
    return (*found, None, None, None, None)


gated_delta_rule.register_autograd(_rule_gradients, setup_context=_keep_for_rule)
causal_conv1d.register_autograd(_convolution_gradients, setup_context=_keep_for_convolution)


def _widths(inputs: Tensor, key_width: int) -> tuple[int, int, int]:
    """Of query, key and value in the channels of the inputs [B, T, D]."""
    return key_width, key_width, inputs.shape[-1] - 2 * key_width


def _places(inputs: Tensor, cu_seqlens: Tensor | None, places: Tensor | None) -> Tensor | None:
    """For each token how many of its document stand before it, int32; None where every line is a document."""
    if cu_seqlens is None:
        return None
    return places_by_borders(cu_seqlens, inputs.shape[1]) if places is None else places.to(torch.int32).contiguous()


def _has_kernels(tensor: Tensor) -> bool:
    """Whether kernels compute the rule; a GPU that is only imagined, in a trace of the memory, counts as one with."""
    if tensor.device.type != "cuda":
        return False
    if not torch.cuda.is_available():
        return True
    return kernels_run_on(tensor.device.index or 0)
