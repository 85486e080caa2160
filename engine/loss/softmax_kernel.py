"""Softmax and its gradient as Triton kernels (`engine.loss.softmax`): each number is read twice and written once.

A program has one row of the logits to itself. Its first way along the row keeps, in each lane, the highest logit so far
and the sum of exponentials relative to it (Milakov and Gimelshein, arXiv 1805.02867); the second one writes the
gradient. Nothing depends on the order in which programs run, so results repeat bit for bit.
"""

# Triton has no types, and what its decorator makes is called in a way of its own.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, no-untyped-call, no-untyped-def, misc"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.loss.projection import Projection

ROW_BLOCK = 4096
"""Logits of a row at once: 8 for each of the 512 threads of a program."""
ROW_WARPS = 16
TILE_BLOCK = 1024
TILE_WARPS = 4


def losses_and_gradient(
    products: Tensor, targets: Tensor, head: Projection, gradient: Tensor | None
) -> tuple[Tensor, Tensor]:
    rows, vocabulary = products.shape
    losses, log_sums = products.new_empty(rows), products.new_empty(rows)
    _check_rows_contiguous(products, gradient)
    _softmax_rows[(rows,)](
        products,
        targets,
        head.bias,
        losses,
        log_sums,
        gradient,
        vocabulary,
        products.stride(0),
        0 if gradient is None else gradient.stride(0),
        head.scale,
        head.softcap or 1.0,
        HAS_BIAS=head.bias is not None,
        HAS_SOFTCAP=head.softcap is not None,
        WITH_GRADIENT=gradient is not None,
        BLOCK=ROW_BLOCK,
        num_warps=ROW_WARPS,
    )
    return losses, log_sums


def tile_gradient(
    products: Tensor,
    targets: Tensor,
    log_sums: Tensor,
    head: Projection,
    begin: int,
    gradient: Tensor,
) -> None:
    rows, columns = products.shape
    _check_rows_contiguous(products, gradient)
    _tile_gradient[(rows, triton.cdiv(columns, TILE_BLOCK))](
        products,
        targets,
        log_sums,
        None if head.bias is None else head.bias[begin:],
        gradient,
        begin,
        columns,
        products.stride(0),
        gradient.stride(0),
        head.scale,
        head.softcap or 1.0,
        HAS_BIAS=head.bias is not None,
        HAS_SOFTCAP=head.softcap is not None,
        BLOCK=TILE_BLOCK,
        num_warps=TILE_WARPS,
    )


def _check_rows_contiguous(products: Tensor, gradient: Tensor | None) -> None:
    assert products.dtype == torch.float32, products.dtype
    assert products.stride(1) == 1 and (gradient is None or gradient.stride(1) == 1)


@triton.jit
def _softmax_rows(
    products,
    targets,
    bias,
    losses,
    log_sums,
    gradient,
    vocabulary,
    products_stride,
    gradient_stride,
    scale,
    softcap,
    HAS_BIAS: tl.constexpr,  # noqa: N803
    HAS_SOFTCAP: tl.constexpr,  # noqa: N803
    WITH_GRADIENT: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    products += row * products_stride
    target = tl.load(targets + row)
    at_target = tl.load(products + target)
    if HAS_BIAS:
        at_target += tl.load(bias + target).to(tl.float32)
    at_target = _capped(at_target * scale, softcap, HAS_SOFTCAP)

    highest = tl.full([BLOCK], float("-inf"), tl.float32)
    sums = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, vocabulary, BLOCK):
        logits = _load_logits(products, bias, begin + lanes, vocabulary, scale, softcap, HAS_BIAS, HAS_SOFTCAP)
        higher = tl.maximum(highest, logits)
        shift = tl.where(higher == float("-inf"), 0.0, higher)  # the difference of two infinities would be NaN
        sums = sums * tl.exp(highest - shift) + tl.exp(logits - shift)
        highest = higher
    top = tl.max(highest, axis=0)
    shift = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(sums * tl.exp(highest - shift), axis=0)
    log_total = tl.log(total)
    tl.store(losses + row, log_total - (at_target - shift))
    tl.store(log_sums + row, shift + log_total)

    if WITH_GRADIENT:
        gradient += row * gradient_stride
        for begin in range(0, vocabulary, BLOCK):
            columns = begin + lanes
            logits = _load_logits(products, bias, columns, vocabulary, scale, softcap, HAS_BIAS, HAS_SOFTCAP)
            by_logits = tl.exp(logits - shift) / total - tl.where(columns == target, 1.0, 0.0)
            by_products = _through_the_head(by_logits, logits, scale, softcap, HAS_SOFTCAP)
            tl.store(gradient + columns, by_products.to(gradient.dtype.element_ty), mask=columns < vocabulary)


@triton.jit
def _tile_gradient(
    products,
    targets,
    log_sums,
    bias,
    gradient,
    first,
    count,
    products_stride,
    gradient_stride,
    scale,
    softcap,
    HAS_BIAS: tl.constexpr,  # noqa: N803
    HAS_SOFTCAP: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    products += row * products_stride
    gradient += row * gradient_stride
    target = tl.load(targets + row) - first
    log_sum = tl.load(log_sums + row)
    logits = _load_logits(products, bias, columns, count, scale, softcap, HAS_BIAS, HAS_SOFTCAP)
    by_logits = tl.exp(logits - log_sum) - tl.where(columns == target, 1.0, 0.0)
    by_products = _through_the_head(by_logits, logits, scale, softcap, HAS_SOFTCAP)
    tl.store(gradient + columns, by_products.to(gradient.dtype.element_ty), mask=columns < count)


@triton.jit
def _load_logits(
    products,
    bias,
    columns,
    count,
    scale,
    softcap,
    HAS_BIAS: tl.constexpr,  # noqa: N803
    HAS_SOFTCAP: tl.constexpr,  # noqa: N803
):
    """The logits of these columns, minus infinity where there are none."""
    is_there = columns < count
    logits = tl.load(products + columns, mask=is_there, other=0.0)
    if HAS_BIAS:
        logits += tl.load(bias + columns, mask=is_there, other=0.0).to(tl.float32)
    return tl.where(is_there, _capped(logits * scale, softcap, HAS_SOFTCAP), float("-inf"))


@triton.jit
def _capped(logits, softcap, HAS_SOFTCAP: tl.constexpr):  # noqa: N803
    """softcap * tanh(logits / softcap), by way of the exponential function."""
    if HAS_SOFTCAP:
        logits = softcap * (1.0 - 2.0 / (tl.exp(2.0 * logits / softcap) + 1.0))
    return logits


@triton.jit
def _through_the_head(by_logits, logits, scale, softcap, HAS_SOFTCAP: tl.constexpr):  # noqa: N803
    """From the gradient by the logits to that by the products."""
    if HAS_SOFTCAP:
        share = logits / softcap
        by_logits *= 1.0 - share * share
    return by_logits * scale
