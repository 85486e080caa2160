"""Cross-entropy of a language-model head, one chunk of tokens at a time.

The full logits [T, V] never exist: at a vocabulary of 250,000 they would be the largest tensor of a training step.
Only tokens with a label reach the head. The forward pass also makes the gradients of each chunk while its logits are
at hand, so the backward pass only scales them, and a tied head receives its gradient exactly once per step.

Memory besides the result: per chunk one float32 tensor [chunk, V] and one in the head's precision (one float32 more
with a softcap), and for a trained head one float32 accumulator [V, H], to which a low-precision head adds its own
gradient [V, H] when the backward pass begins. The accumulator stays float32 for low-precision weights because sums
over many chunks in bfloat16 lose their low digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.labels import IGNORED_LABEL
from engine.to_device import to_device


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
    head = _Head(head_weight, bias, softcap, scale)
    _check_shapes(hidden, head, labels, chunk_tokens)
    tensors = (hidden, head_weight, bias)
    if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors):
        loss: Tensor = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            hidden, head_weight, bias, labels, chunk_tokens, softcap, scale
        )
        return loss
    return token_losses(hidden, head_weight, labels, chunk_tokens, bias, softcap, scale).sum()


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
    head = _Head(head_weight, bias, softcap, scale)
    _check_shapes(hidden, head, labels, chunk_tokens)
    losses = hidden.new_zeros(labels.shape, dtype=_accumulation_dtype(hidden))
    for rows, targets in _chunks(labels, chunk_tokens, hidden.device):
        logits, _ = head.logits(hidden[rows])
        losses[rows], _ = _losses_in_place(logits, targets)
    return losses


@dataclass(frozen=True, slots=True)
class _Head:
    """What turns a hidden state into logits."""

    weight: Tensor
    bias: Tensor | None
    softcap: float | None
    scale: float

    def logits(self, hidden: Tensor, *, want_slope: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return the logits [n, V] in accumulation precision, and the softcap's derivative there if wanted."""
        logits = _matmul(hidden, self.weight.t())
        if self.bias is not None:
            logits.add_(self.bias)
        if self.scale != 1.0:
            logits.mul_(self.scale)
        if self.softcap is None:
            return logits, None
        logits.div_(self.softcap).tanh_()
        slope = logits.square().neg_().add_(1.0) if want_slope else None
        return logits.mul_(self.softcap), slope


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        chunk_tokens: int,
        softcap: float | None,
        scale: float,
    ) -> Tensor:
        head = _Head(weight, bias, softcap, scale)
        gradients = _Gradients.zeros(hidden, weight, bias, wanted=ctx.needs_input_grad[:3])
        loss = hidden.new_zeros((), dtype=_accumulation_dtype(hidden))
        for rows, targets in _chunks(labels, chunk_tokens, hidden.device):
            chunk = hidden[rows]
            logits, slope = head.logits(chunk, want_slope=True)
            losses, exponential_sums = _losses_in_place(logits, targets)
            loss += losses.sum()
            # From here on `logits` holds the gradient: softmax minus one-hot, then back through softcap and scale.
            logits.div_(exponential_sums.unsqueeze(1))
            logits[torch.arange(len(targets), device=logits.device), targets] -= 1.0
            if slope is not None:
                logits.mul_(slope)
            if scale != 1.0:
                logits.mul_(scale)
            gradients.add_chunk(rows, chunk, weight, logits)
        ctx.gradients = gradients
        ctx.dtypes = (hidden.dtype, weight.dtype, None if bias is None else bias.dtype)
        return loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        gradients: _Gradients | None = ctx.gradients
        if gradients is None:
            raise RuntimeError("chunked_cross_entropy was differentiated twice; compute the loss again instead")
        ctx.gradients = None  # the buffers become the gradients, so nothing else may keep them
        return (*gradients.scaled(grad_outputs[0], ctx.dtypes), None, None, None, None)


@dataclass(slots=True)
class _Gradients:
    """The gradients of the summed loss, None for inputs that need none."""

    hidden: Tensor | None
    weight: Tensor | None
    bias: Tensor | None

    @classmethod
    def zeros(cls, hidden: Tensor, weight: Tensor, bias: Tensor | None, wanted: tuple[bool, bool, bool]) -> _Gradients:
        accumulate = _accumulation_dtype(weight)
        return cls(
            hidden=torch.zeros_like(hidden) if wanted[0] else None,
            weight=torch.zeros_like(weight, dtype=accumulate) if wanted[1] else None,
            bias=torch.zeros_like(bias, dtype=accumulate) if bias is not None and wanted[2] else None,
        )

    def add_chunk(self, rows: Tensor, hidden: Tensor, weight: Tensor, grad_logits: Tensor) -> None:
        """Add what the logits of the tokens `rows` contribute; grad_logits [n, V] is in accumulation precision."""
        if self.bias is not None:
            self.bias += grad_logits.sum(0)
        if self.hidden is not None:
            self.hidden[rows] = grad_logits.to(weight.dtype) @ weight
        if self.weight is not None:
            _add_matmul(self.weight, grad_logits.t(), hidden)

    def scaled(self, factor: Tensor, dtypes: tuple[torch.dtype | None, ...]) -> tuple[Tensor | None, ...]:
        tensors = (self.hidden, self.weight, self.bias)
        return tuple(
            None if tensor is None or dtype is None else _scale_into(tensor, factor, dtype)
            for tensor, dtype in zip(tensors, dtypes, strict=True)
        )


def _chunks(labels: Tensor, chunk_tokens: int, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield positions and targets of the labelled tokens on `device`, at most chunk_tokens at a time.

    Where they are is found on the labels' own device: with labels on the host no accelerator is waited for.
    """
    labelled = (labels != IGNORED_LABEL).nonzero().squeeze(1)
    targets = to_device(labels[labelled], device)
    labelled = to_device(labelled, device)
    if len(labelled):
        yield from zip(torch.split(labelled, chunk_tokens), torch.split(targets, chunk_tokens), strict=True)


def _losses_in_place(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row's loss and its sum of exponentials, which replace the logits (shifted by the maximum)."""
    logits.sub_(logits.amax(1, keepdim=True))
    target_logits = logits.gather(1, targets.unsqueeze(1)).squeeze(1)
    exponential_sums = logits.exp_().sum(1)
    return exponential_sums.log() - target_logits, exponential_sums


def _accumulation_dtype(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def _matmul(left: Tensor, right: Tensor) -> Tensor:
    """Return left @ right in accumulation precision; on CUDA without a low-precision copy in between."""
    accumulate = _accumulation_dtype(left)
    if left.is_cuda and left.dtype != accumulate:
        return torch.mm(left, right, out_dtype=accumulate)
    return (left @ right).to(accumulate)


def _add_matmul(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add left @ right to `total` in its precision; the factors are rounded to right's dtype only on CUDA."""
    if right.is_cuda and right.dtype != total.dtype:
        torch.addmm(total, left.to(right.dtype), right, out_dtype=total.dtype, out=total)
    else:
        total.addmm_(left, right.to(total.dtype))


def _scale_into(tensor: Tensor, factor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return tensor * factor in `dtype`, reusing the tensor's memory where the dtype allows.

    The factor has one dimension on purpose: a scalar tensor would be rounded to the tensor's low precision first.
    """
    out = tensor if tensor.dtype == dtype else torch.empty_like(tensor, dtype=dtype)
    return torch.mul(tensor, factor.reshape(1), out=out)


def _check_shapes(hidden: Tensor, head: _Head, labels: Tensor, chunk_tokens: int) -> None:
    weight, bias = head.weight, head.bias
    assert hidden.ndim == 2 and weight.ndim == 2 and hidden.shape[1] == weight.shape[1], (hidden.shape, weight.shape)
    assert labels.shape == hidden.shape[:1], (labels.shape, hidden.shape)
    assert bias is None or bias.shape == weight.shape[:1], (bias, weight.shape)
    assert hidden.dtype == weight.dtype, (hidden.dtype, weight.dtype)
    assert chunk_tokens > 0, chunk_tokens
