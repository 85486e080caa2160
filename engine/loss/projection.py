"""The projection of a language-model head, and products of matrices that lose no digits in their sums."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Projection:
    """What turns hidden states into logits: `softcap(scale * (hidden @ weight.T + bias))`.

    weight [V, H], bias [V]; `softcap(x) = softcap * tanh(x / softcap)` where a softcap is given.
    """

    weight: Tensor
    bias: Tensor | None
    softcap: float | None
    scale: float

    @property
    def accumulates_in(self) -> torch.dtype:
        """The type of products and losses: float32, or float64 for float64 weights."""
        return accumulation_dtype(self.weight.dtype)

    def products(self, hidden: Tensor, begin: int = 0, end: int | None = None, out: Tensor | None = None) -> Tensor:
        """`hidden @ weight[begin:end].T` [n, end - begin] in accumulation precision, into `out` where it is given."""
        return product(hidden, self.weight[begin:end].t(), out)


def accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32, or what is wider."""
    return torch.promote_types(dtype, torch.float32)


def product(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """`left @ right` in accumulation precision; on CUDA without a low-precision copy in between."""
    accumulate = accumulation_dtype(left.dtype)
    if left.dtype == accumulate:
        return torch.mm(left, right, out=out) if out is not None else left @ right
    if not left.is_cuda:
        exact = (left @ right).to(accumulate)
        return exact if out is None else out.copy_(exact)
    if out is None:
        return torch.mm(left, right, out_dtype=accumulate)
    return torch.mm(left, right, out_dtype=accumulate, out=out)


def summed_product(left: Tensor, right: Tensor) -> Tensor:
    """`left @ right` where the sums run over many tokens: their digits are kept on every device."""
    accumulate = accumulation_dtype(left.dtype)
    return product(left, right) if left.is_cuda else left.to(accumulate) @ right.to(accumulate)


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add `left @ right` to `total` in its precision."""
    if right.is_cuda and right.dtype != total.dtype:
        torch.addmm(total, left, right, out_dtype=total.dtype, out=total)
    else:
        total.addmm_(left.to(total.dtype), right.to(total.dtype))
