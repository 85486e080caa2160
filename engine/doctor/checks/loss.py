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
from engine.model.load import pick_device

_TOKENS, _WIDTH, _VOCABULARY, _CHUNK = 300, 48, 701, 64
LIMITS = {torch.float32: 1e-5, torch.bfloat16: 1e-2}
"""Sums of float32 in another order; gradients rounded to bfloat16. A lost chunk or a wrong divisor is off by more."""
ChunkedLoss = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def check_loss(patient: Patient) -> Outcome:
    """Compare loss and gradients with `cross_entropy` of the full logits, in the types that runs have here."""
    device = pick_device().type
    outcome = judge(chunked_cross_entropy, device)
    if outcome.status != "ok" or device == "cpu":
        return outcome
    return judge(chunked_cross_entropy, device, torch.bfloat16)


def judge(chunked: ChunkedLoss, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Outcome:
    """The verdict on a function of hidden [T, H], head [V, H], labels [T] and the size of a chunk."""
    found, wanted = _results(chunked, device, dtype), _results(_full, device, dtype, torch.float64)
    error, limit = max(map(relative_error, found, wanted)), LIMITS[dtype]
    where = f"in {str(dtype).removeprefix('torch.')} on {'the GPU' if device == 'cuda' else 'the CPU'}"
    if not error <= limit:
        return failed(
            f"the chunked loss differs from that of the full logits by {error:.1e} {where} (allowed {limit:.0e})",
            "memory.chunked_loss: false",
        )
    return ok(f"chunked loss and its gradients equal those of the full logits to {error:.0e} {where}")


def _results(
    loss_of: ChunkedLoss, device: str, dtype: torch.dtype, computed_in: torch.dtype | None = None
) -> tuple[Tensor, ...]:
    """Loss and gradients of inputs that are rounded to `dtype`."""
    generator = torch.Generator().manual_seed(0)
    drawn = (
        torch.randn(_TOKENS, _WIDTH, generator=generator),
        torch.randn(_VOCABULARY, _WIDTH, generator=generator).mul_(0.1),
    )
    hidden, head = (one.to(device, dtype).to(computed_in or dtype).requires_grad_() for one in drawn)
    labels = torch.randint(_VOCABULARY, (_TOKENS,), generator=generator)
    labels[::3] = IGNORED_LABEL
    loss = loss_of(hidden, head, labels, _CHUNK)
    return (loss.detach(), *torch.autograd.grad(loss, (hidden, head)))


def _full(hidden: Tensor, head: Tensor, labels: Tensor, chunk_tokens: int) -> Tensor:
    return F.cross_entropy(hidden @ head.T, labels.to(head.device), reduction="sum", ignore_index=IGNORED_LABEL)
