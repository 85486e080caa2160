"""A few steps of a small bfloat16 model with a tied head, as a run takes them, with gradient release and without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.backward.gate import go_to_gate
from engine.backward.norm import GradientNorms
from engine.backward.release import GradientRelease
from engine.config import Train
from engine.data.feeding.batches import Batch, collate
from engine.data.feeding.samples import sample_of
from engine.doctor.checks.tiny import tiny_batch, tiny_model
from engine.model.head import loss_head
from engine.optim.build import build_optimizer
from engine.optim.tensor_optimizer import TensorOptimizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

STEPS, RATE = 3, 1e-3
CHUNK = 5
"""Tokens of a chunk of the loss: the batch has several of them."""
TakeStep = Callable[[Batch], None]
Way = Callable[["PreTrainedModel", TensorOptimizer], TakeStep]
"""A way to train: called once for a model, it returns what takes one step after `begin_step`."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a few steps left: the weights, and how often each tensor was updated."""

    weights: dict[str, Tensor]
    updates: dict[str, int]

    def told_of_wrong_counts(self) -> str | None:
        """The tensors with another number of updates than there were steps, in words; None without any."""
        wrong = [name for name, count in self.updates.items() if count != STEPS]
        if not wrong:
            return None
        return (
            f"{wrong[0]} is stepped {self.updates[wrong[0]]} times in {STEPS} steps "
            f"({len(wrong)} of {len(self.updates)} tensors not once a step)"
        )


def train_a_little(way: Way) -> Trained:
    """Train with 8-bit Lion and stochastic rounding; model, batches and random bits are always the same ones."""
    model = tiny_model(torch.bfloat16, is_hybrid=False)
    named = list(model.named_parameters())
    train = Train(optimizer="lion8bit", learning_rate=RATE, stochastic_rounding=True)
    optimizer = build_optimizer(named, train)
    updates = _count_updates(model, optimizer)
    take_step = way(model, optimizer)
    for step in range(1, STEPS + 1):
        optimizer.begin_step(step, RATE)
        take_step(_batch(step))
    return Trained({name: parameter.detach() for name, parameter in named}, updates)


def released(model: PreTrainedModel, optimizer: TensorOptimizer) -> TakeStep:
    """Each weight moves inside the backward pass, and its gradient is freed at once."""
    head, named = loss_head(model, chunked=True, chunk_tokens=CHUNK), list(model.named_parameters())
    norms = GradientNorms(named)
    release = GradientRelease(optimizer, named, norms)

    def take_step(batch: Batch) -> None:
        rest = go_to_gate(head, [batch], lambda lap: None).rest
        assert rest is not None, "no token has loss"
        norms.forget()
        rest.backward()
        release.step_rest()

    return take_step


def not_released(model: PreTrainedModel, optimizer: TensorOptimizer) -> TakeStep:
    """All gradients are complete before the first weight moves."""
    head = loss_head(model, chunked=True, chunk_tokens=CHUNK)

    def take_step(batch: Batch) -> None:
        rest = go_to_gate(head, [batch], lambda lap: None).rest
        assert rest is not None, "no token has loss"
        rest.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return take_step


def _batch(step: int) -> Batch:
    ids, labels = tiny_batch(seed=step)
    pairs = zip(ids.tolist(), labels.tolist(), strict=True)
    return collate([sample_of(row, *lists) for row, lists in enumerate(pairs)], pad_id=0)


def _count_updates(model: PreTrainedModel, optimizer: TensorOptimizer) -> dict[str, int]:
    """The updates of each tensor by its name, counted from now on."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    updates = dict.fromkeys(names.values(), 0)
    update = optimizer.update

    def counted(parameter: Tensor, *arguments: Any, **named: Any) -> None:
        if named.get("begin", 0) == 0:  # the first part of a tensor that moves part by part
            updates[names[id(parameter)]] += 1
        update(parameter, *arguments, **named)

    optimizer.update = counted  # type: ignore[method-assign]
    return updates
