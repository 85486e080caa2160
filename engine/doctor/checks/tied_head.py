"""A head that shares the embedding's weights gets its whole gradient at once, so it is stepped once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from engine.doctor.checks.tiny import tiny_batch, tiny_model
from engine.doctor.result import Outcome, Patient, failed, ok
from engine.model.head import loss_head

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

_CHUNK = 5
"""Tokens of a chunk: the small batch has several of them."""
Backward = Callable[["PreTrainedModel"], None]


def check_tied_head(patient: Patient) -> Outcome:
    """Count how often each weight's gradient becomes complete in one backward pass of the chunked loss."""
    return judge(_backward)


def judge(backward: Backward) -> Outcome:
    """The verdict on a backward pass over a model whose head is its embedding."""
    model = tiny_model()
    firings = dict.fromkeys((name for name, _ in model.named_parameters()), 0)

    def counter(name: str) -> Callable[[Tensor], None]:
        def count(parameter: Tensor) -> None:
            firings[name] += 1

        return count

    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(counter(name))
    backward(model)
    wrong = {name: count for name, count in firings.items() if count != 1}
    if wrong:
        name, count = next(iter(wrong.items()))
        return failed(
            f"{name} would be stepped {count} times in one step ({len(wrong)} of {len(firings)} tensors not once)",
            "memory.gradient_release: false, memory.chunked_loss: false",
        )
    return ok(f"each of {len(firings)} tensors, the tied head among them, is stepped once")


def _backward(model: PreTrainedModel) -> None:
    ids, labels = tiny_batch()
    loss = loss_head(model, chunked=True, chunk_tokens=_CHUNK).summed_loss(ids, labels)
    torch.autograd.backward(loss)
