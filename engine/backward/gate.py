"""The gate of a step: loss and gradient at the last hidden state are known there, and nothing has moved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.backward.cut import AtCut, differentiate_head, forward_to_cut
from engine.backward.norm import norm_of
from engine.data.feeding.batches import Batch
from engine.model.head import LossHead


@dataclass(frozen=True, slots=True)
class AtGate:
    """A step before anything has moved; all None when no token of it has loss."""

    loss: float | None
    """The mean over its loss tokens."""
    hidden_norm: float | None
    """The norm of the loss's gradient at the last hidden state."""
    rest: AtCut | None
    """What is left of its backward pass: the body's, of the last micro-batch."""
    late: tuple[float, ...] = ()
    """What was fetched from the device in the same go."""


def go_to_gate(
    head: LossHead, batches: Sequence[Batch], lap: Callable[[str], None], late: Tensor | None = None
) -> AtGate:
    """Go forward, and backward up to the last hidden state of the last micro-batch.

    The divisor of the loss is the count of the whole step, so neither the split into micro-batches nor their lengths
    weigh. Gradients have the type of their weights: those of bfloat16 weights add up over micro-batches in bfloat16.
    `lap` is told when a "forward" and a "backward" are over. The two numbers and `late` (float64 [n] on the device)
    come to the host in one transfer, the only time that a step waits for the device here.
    """
    loss_tokens = sum(batch.loss_tokens for batch in batches)
    if loss_tokens == 0:
        return AtGate(None, None, None, _fetched(late))
    sums = torch.zeros(2, dtype=torch.float64, device=head.device)  # of the losses, of the norms' squares
    at_cut = None
    for batch in batches:
        if at_cut is not None:
            at_cut.backward()
        forward = forward_to_cut(head, batch)
        lap("forward")
        at_cut = differentiate_head(forward, loss_tokens)
        sums += torch.stack([forward.loss.detach().double(), norm_of(at_cut.gradient).square()])
        lap("backward")
    loss, squares, *rest = _fetched(sums if late is None else torch.cat([sums, late]))
    return AtGate(loss / loss_tokens, math.sqrt(squares), at_cut, tuple(rest))


def _fetched(numbers: Tensor | None) -> tuple[float, ...]:
    return () if numbers is None else tuple(numbers.tolist())
