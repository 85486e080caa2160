"""Cross-entropy of a language-model head, one chunk of tokens at a time.

The full logits [T, V] never exist: at a vocabulary of 250,000 they would be the largest tensor of a training step.
Only tokens with a label reach the head. The forward pass also makes the gradient of the hidden states while a chunk's
logits are at hand, so the backward pass only scales it. A tied head receives its gradient exactly once per step.

The weight's gradient is made in one of two ways:

- in tiles of the vocabulary, in the backward pass (`engine.loss.passes`): 8 V H floating-point operations a token for
  the whole head, and besides the gradient at most `TILE_BYTES`;
- added up over the chunks in float32 [V, H], in the forward pass: 6 V H operations a token. For float32 weights that
  sum is the gradient. For weights of lower precision it is memory twice the size of the gradient, beside which the
  gradient is made from it, and each chunk reads and writes all of it. So it is taken for float32 weights, where one
  chunk has all tokens (there is no sum then), and for chunks of `TOKENS_WORTH_A_SUM` and more.

Memory besides the result, in both ways: for a chunk one float32 tensor [chunk, V] and one in the head's precision (one
float32 more with a softcap where there is no kernel), and the states of the tokens with loss with their gradient.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.labels import IGNORED_LABEL
from engine.loss.passes import HeadTokens, Wanted, first_pass
from engine.loss.projection import Projection
from engine.to_device import to_device

TOKENS_WORTH_A_SUM = 1024
"""From so many tokens in a chunk on, to add a chunk's gradient to the sum takes less time than to make it by tiles.

Computed: reading and writing V H float32 numbers costs 8 V H bytes, computing the chunk's logits again 2 V H operations
a token. By their data sheets an A100 does 150 operations of bfloat16 in the time of a byte, an H200 200, an H100 300,
so they are even at chunks of 600, 800 and 1,200 tokens.
"""


def chunked_cross_entropy(
    hidden: Tensor,
    head_weight: Tensor,
    labels: Tensor,
    chunk_tokens: int,
    bias: Tensor | None = None,
    softcap: float | None = None,
    scale: float = 1.0,
) -> Tensor:
    """Return the cross-entropy summed over the labelled tokens, a float32 scalar (float64 for float64 inputs).

    hidden [T, H] and head_weight [V, H] share one dtype; labels [T] are already shifted, hold `IGNORED_LABEL` where a
    token has no loss, and are best left on the host; bias [V].
    The logits are `softcap(scale * (hidden @ head_weight.T + bias))`, with
    `softcap(x) = softcap * tanh(x / softcap)` where a softcap is given. Without any labelled token the result is 0 and
    every gradient is zero. The result can be differentiated once, which lets the backward pass reuse its buffers.
    """
    head = Projection(head_weight, bias, softcap, scale)
    _check_shapes(hidden, head, labels, chunk_tokens)
    tensors = (hidden, head_weight, bias)
    if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors):
        loss: Tensor = _differentiable(hidden, head, labels, chunk_tokens)[0]
        return loss
    return token_losses(hidden, head_weight, labels, chunk_tokens, bias, softcap, scale).sum()


def cross_entropy_and_tokens(
    hidden: Tensor,
    head_weight: Tensor,
    labels: Tensor,
    chunk_tokens: int,
    bias: Tensor | None = None,
    softcap: float | None = None,
    scale: float = 1.0,
) -> tuple[Tensor, HeadTokens]:
    """Return the same sum, through which no gradient reaches the weight, and what that can be made from by tiles."""
    frozen = Projection(head_weight.detach(), bias, softcap, scale)
    _check_shapes(hidden, frozen, labels, chunk_tokens)
    loss, *tokens = _differentiable(hidden, frozen, labels, chunk_tokens)
    without_graph = Projection(frozen.weight, None if bias is None else bias.detach(), softcap, scale)
    return loss, HeadTokens(without_graph, *tokens)


@torch.no_grad()
def token_losses(
    hidden: Tensor,
    head_weight: Tensor,
    labels: Tensor,
    chunk_tokens: int,
    bias: Tensor | None = None,
    softcap: float | None = None,
    scale: float = 1.0,
) -> Tensor:
    """Return the loss of each token, [T], 0 where the label is `IGNORED_LABEL`; arguments as above, no gradient."""
    head = Projection(head_weight, bias, softcap, scale)
    _check_shapes(hidden, head, labels, chunk_tokens)
    places, targets = _labelled(labels, hidden.device)
    found = first_pass(head, hidden.index_select(0, places), targets, chunk_tokens, Wanted())
    return hidden.new_zeros(labels.shape, dtype=head.accumulates_in).index_copy_(0, places, found.losses)


def _differentiable(
    hidden: Tensor, head: Projection, labels: Tensor, chunk_tokens: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The summed loss, and of the labelled tokens their states [T, H], targets [T] and log sums [T]."""
    places, targets = _labelled(labels, hidden.device)
    loss, states, log_sums = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, head.weight, head.bias, places, targets, chunk_tokens, head.softcap, head.scale
    )
    return loss, states, targets, log_sums


def _labelled(labels: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    """The places and targets of the labelled tokens, both [T] on `device`.

    Where they are is found on the labels' own device: with labels on the host no accelerator is waited for.
    """
    places = (labels != IGNORED_LABEL).nonzero().squeeze(1)
    return to_device(places, device), to_device(labels[places], device)


def _adds_up(weight: Tensor, tokens: int, chunk_tokens: int) -> bool:
    """Whether the weight's gradient is added up over chunks, instead of made by tiles."""
    is_exact = weight.dtype == torch.promote_types(weight.dtype, torch.float32)
    return is_exact or tokens <= chunk_tokens or chunk_tokens >= TOKENS_WORTH_A_SUM


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Outputs: loss [], the labelled tokens' states [T, H] and log sums [T]; only the loss can be differentiated."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        places: Tensor,
        targets: Tensor,
        chunk_tokens: int,
        softcap: float | None,
        scale: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        head = Projection(weight, bias, softcap, scale)
        wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        states = hidden.index_select(0, places)
        adds_up = wants_weight and _adds_up(weight, len(targets), chunk_tokens)
        found = first_pass(head, states, targets, chunk_tokens, Wanted(wants_hidden, wants_bias, adds_up))
        ctx.made = (found.hidden, found.weight, found.bias)
        ctx.by_tiles = (softcap, scale, states, targets, found.log_sums) if wants_weight and not adds_up else None
        ctx.places, ctx.hidden_shape = places, hidden.shape
        ctx.save_for_backward(weight, bias)
        ctx.mark_non_differentiable(states, found.log_sums)
        ctx.set_materialize_grads(False)
        return found.losses.sum(), states, found.log_sums

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        if ctx.made is None:
            raise RuntimeError("chunked_cross_entropy was differentiated twice; compute the loss again instead")
        factor = grad_outputs[0]
        assert factor is not None, "nothing else of it can be differentiated"
        weight, bias = ctx.saved_tensors  # torch refuses here where the weight has moved since
        (by_hidden, by_weight, by_bias), by_tiles = ctx.made, ctx.by_tiles
        ctx.made = ctx.by_tiles = None  # the buffers become the gradients, so nothing else may keep them
        if by_hidden is not None:
            scaled = _scale_into(by_hidden, factor, by_hidden.dtype)
            by_hidden = scaled.new_zeros(ctx.hidden_shape).index_copy_(0, ctx.places, scaled)
        if by_weight is not None:
            by_weight = _scale_into(by_weight, factor, weight.dtype)
        if by_bias is not None:
            by_bias = _scale_into(by_bias, factor, bias.dtype)
        if by_tiles is not None:
            softcap, scale, states, targets, log_sums = by_tiles
            tokens = HeadTokens(Projection(weight, bias, softcap, scale), states, targets, log_sums)
            by_weight = _whole_gradient(tokens, factor)
        return by_hidden, by_weight, by_bias, None, None, None, None, None


def _whole_gradient(tokens: HeadTokens, factor: Tensor) -> Tensor:
    """The weight's gradient [V, H], made tile by tile."""
    whole = torch.empty_like(tokens.head.weight)
    for begin, end in tokens.tiles():
        whole[begin:end] = tokens.weight_gradient(begin, end, factor)
    return whole


def _scale_into(tensor: Tensor, factor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return tensor * factor in `dtype`, reusing the tensor's memory where the dtype allows.

    The factor has one dimension on purpose: a scalar tensor would be rounded to the tensor's low precision first.
    """
    out = tensor if tensor.dtype == dtype else torch.empty_like(tensor, dtype=dtype)
    return torch.mul(tensor, factor.reshape(1), out=out)


def _check_shapes(hidden: Tensor, head: Projection, labels: Tensor, chunk_tokens: int) -> None:
    weight, bias = head.weight, head.bias
    assert hidden.ndim == 2 and weight.ndim == 2 and hidden.shape[1] == weight.shape[1], (hidden.shape, weight.shape)
    assert labels.shape == hidden.shape[:1], (labels.shape, hidden.shape)
    assert bias is None or bias.shape == weight.shape[:1], (bias, weight.shape)
    assert hidden.dtype == weight.dtype, (hidden.dtype, weight.dtype)
    assert chunk_tokens > 0, chunk_tokens
