"""The two passes over a head, neither of which ever has all logits [T, V].

The first one goes through the tokens in chunks: losses, and the gradient of the hidden states. What the second one
needs of it is one number a token, the log of the sum of exponentials. The second one goes through the vocabulary in
tiles: it computes the logits of all tokens again, for one tile, and from them the gradient of the tile's weights in a
single product, whose sum over all tokens is rounded once. That costs a third more arithmetic than to add up the
gradients of the chunks in float32 [V, H], and neither that memory nor the way through it once a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.loss.projection import Projection, add_product, product, summed_product
from engine.loss.softmax import softmax_for

TILE_BYTES = 2**28
"""What the logits of a tile, their gradient and that of the tile's weights may take at once."""
TILE_STEP = 256
"""Tiles begin at multiples of it, and so at a block of an optimizer's 8-bit state, however wide the weight."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which gradients the first pass makes."""

    hidden: bool = False
    bias: bool = False
    weight: bool = False


@dataclass(frozen=True, slots=True)
class FirstPass:
    """What the first pass found; gradients are those of the summed loss, None where not wanted."""

    losses: Tensor
    """[T] in accumulation precision."""
    log_sums: Tensor
    """[T], the logs of the sums of exponentials."""
    hidden: Tensor | None
    """[T, H] in the precision of the hidden states."""
    bias: Tensor | None
    """[V] in accumulation precision."""
    weight: Tensor | None
    """[V, H] in accumulation precision, or in the weight's own where one chunk holds all tokens."""


def first_pass(head: Projection, hidden: Tensor, targets: Tensor, chunk_tokens: int, wanted: Wanted) -> FirstPass:
    """Go through the tokens with loss, hidden [T, H] and targets [T], chunk by chunk.

    Memory besides the result: the logits of a chunk in accumulation precision, and where gradients are wanted the same
    in the weight's precision, if that is another one.
    """
    weight, accumulate = head.weight, head.accumulates_in
    tokens, chunk = len(targets), min(chunk_tokens, len(targets))
    losses, log_sums = (hidden.new_empty(tokens, dtype=accumulate) for _ in range(2))
    by_hidden = torch.empty_like(hidden) if wanted.hidden else None
    by_bias = hidden.new_zeros(len(weight), dtype=accumulate) if wanted.bias else None
    is_one_chunk = 0 < tokens <= chunk_tokens
    by_weight = torch.zeros_like(weight, dtype=accumulate) if wanted.weight and not is_one_chunk else None
    with_gradient = wanted.hidden or wanted.bias or wanted.weight
    products = hidden.new_empty((chunk, len(weight)), dtype=accumulate)  # [chunk, V]
    rounded = torch.empty_like(products, dtype=weight.dtype) if with_gradient and weight.dtype != accumulate else None
    softmax = softmax_for(products)
    for begin in range(0, tokens, max(chunk, 1)):
        rows = slice(begin, min(begin + chunk, tokens))
        states, count = hidden[rows], rows.stop - begin  # [n, H]
        logits = head.products(states, out=products[:count])  # [n, V]
        gradient = (logits if rounded is None else rounded[:count]) if with_gradient else None
        losses[rows], log_sums[rows] = softmax.losses_and_gradient(logits, targets[rows], head, gradient)
        if gradient is None:
            continue
        if by_bias is not None:
            by_bias += gradient.sum(0, dtype=accumulate)
        if by_hidden is not None:
            by_hidden[rows] = product(gradient, weight)
        if by_weight is not None:
            add_product(by_weight, gradient.t(), states)
        elif wanted.weight:
            by_weight = _rounded_product(gradient.t(), states)
    return FirstPass(losses, log_sums, by_hidden, by_bias, by_weight)


def _rounded_product(left: Tensor, right: Tensor) -> Tensor:
    """`left @ right` in the factors' precision; on CUDA rounded as it is written, never a second copy of that size."""
    return left @ right if left.is_cuda else summed_product(left, right).to(left.dtype)


@dataclass(frozen=True, slots=True)
class HeadTokens:
    """The tokens with loss as they reached a head: all that the gradient of its weight can be made from, by tiles."""

    head: Projection
    hidden: Tensor
    """[T, H]"""
    targets: Tensor
    """[T]"""
    log_sums: Tensor
    """[T], the logs of the sums of exponentials over the whole vocabulary."""

    def tiles(self) -> list[tuple[int, int]]:
        """The borders of the tiles of the vocabulary."""
        weight = self.head.weight
        return tiles_of(len(weight), weight.shape[1], len(self.targets), weight.element_size())

    def weight_gradient(self, begin: int, end: int, factor: Tensor) -> Tensor:
        """The gradient of `factor` (a scalar on the device) times the summed loss by weight[begin:end]: [n, H].

        From the weight as it is now in these rows; it has to be as it was in the first pass.
        """
        dtype = self.head.weight.dtype
        products = self.head.products(self.hidden, begin, end)  # [T, n]
        gradient = products if products.dtype == dtype else torch.empty_like(products, dtype=dtype)
        softmax = softmax_for(products)
        softmax.tile_gradient(products, self.targets, self.log_sums, self.head, begin, gradient)
        del products
        # The factor comes last: in low precision it would move all the ones of the targets to the same side.
        return summed_product(gradient.t(), self.hidden).mul_(factor).to(dtype)


def tiles_of(vocabulary: int, width: int, tokens: int, element_size: int) -> list[tuple[int, int]]:
    """The borders of tiles of equal size (the last one smaller) within `TILE_BYTES`, at least `TILE_STEP` tokens each.

    For each token of the vocabulary a tile first holds `tokens` logits in accumulation precision and, where the
    weight's is lower, their gradient in that one; then, beside this gradient, `width` weights' own in both precisions.
    """
    wide, low = max(element_size, 4), element_size if element_size < 4 else 0
    rounded = low or wide  # the gradient of the logits takes the place of wide logits
    bytes_of_one = max(tokens * (wide + low), tokens * rounded + width * (wide + low))
    most = max(TILE_BYTES // bytes_of_one // TILE_STEP * TILE_STEP, TILE_STEP)
    count = -(-vocabulary // most)
    rows = -(-vocabulary // (count * TILE_STEP)) * TILE_STEP
    return [(begin, min(begin + rows, vocabulary)) for begin in range(0, vocabulary, rows)]
