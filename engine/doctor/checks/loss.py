"""The chunked loss is the loss of the full logits, gradients too."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.doctor.checks.numbers import relative_error
from engine.doctor.result import Outcome, Patient, failed, ok
from engine.labels import IGNORED_LABEL
from engine.loss import chunked_cross_entropy

_TOKENS, _WIDTH, _VOCABULARY, _CHUNK = 300, 48, 701, 64
LIMIT = 1e-5
"""Sums of float32 in another order; a lost chunk or a wrong divisor is off by far more."""
ChunkedLoss = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def check_loss(patient: Patient) -> Outcome:
    """Compare loss and gradients with `cross_entropy` of the full logits."""
    return judge(chunked_cross_entropy)


def judge(chunked: ChunkedLoss) -> Outcome:
    """The verdict on a function of hidden [T, H], head [V, H], labels [T] and the size of a chunk."""
    error = max(relative_error(ours, full) for ours, full in zip(_results(chunked), _results(_full), strict=True))
    if not error <= LIMIT:
        return failed(
            f"the chunked loss differs from that of the full logits by {error:.1e} (allowed {LIMIT:.0e})",
            "memory.chunked_loss: false",
        )
    return ok(f"chunked loss and its gradients equal those of the full logits to {error:.0e}")


def _results(loss_of: ChunkedLoss) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(_TOKENS, _WIDTH, generator=generator).requires_grad_()
    head = torch.randn(_VOCABULARY, _WIDTH, generator=generator).mul_(0.1).requires_grad_()
    labels = torch.randint(_VOCABULARY, (_TOKENS,), generator=generator)
    labels[::3] = IGNORED_LABEL
    loss = loss_of(hidden, head, labels, _CHUNK)
    return (loss.detach(), *torch.autograd.grad(loss, (hidden, head)))


def _full(hidden: Tensor, head: Tensor, labels: Tensor, chunk_tokens: int) -> Tensor:
    return F.cross_entropy(hidden @ head.T, labels, reduction="sum", ignore_index=IGNORED_LABEL)
