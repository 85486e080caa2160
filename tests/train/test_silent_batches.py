"""Steps of which a part, or all, has no token to learn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.data.feeding.batches import Batch
from engine.events import Alert, Step
from engine.train.loop import Trainer

Train = Callable[..., Any]


def test_a_step_without_a_token_to_learn_from_is_skipped_and_half_a_step_is_not(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is a loss of 0.0 or NaN told, nor a weight moved."""
    silenced = {3: (0,), 5: (0, 1)}
    before: dict[int, list[Tensor]] = {}
    honest = Trainer.next_batches

    def next_batches(trainer: Trainer) -> tuple[Sequence[Batch], float]:
        batches, epoch = honest(trainer)
        step = trainer.progress.step + 1
        before[step] = [parameter.detach().clone() for parameter in trainer.head.model.parameters()]
        which = silenced.get(step, ())
        return [_silent(one) if place in which else one for place, one in enumerate(batches)], epoch

    monkeypatch.setattr(Trainer, "next_batches", next_batches)
    done = train("--train.gradient_accumulation_steps", 2, "--train.max_steps", 7)
    steps = {step.step: step for step in done.of(Step)}
    assert done.code == 0 and steps[3].loss is not None and math.isfinite(steps[3].loss) and not steps[3].skipped
    assert steps[3].grad_norm is not None and math.isfinite(steps[3].grad_norm)
    assert steps[5].loss is None and steps[5].skipped
    assert all(torch.equal(one, other) for one, other in zip(before[5], before[6], strict=True))
    assert not all(torch.equal(one, other) for one, other in zip(before[3], before[4], strict=True))
    told = [(one.state, one.step, one.count) for one in done.of(Alert) if one.code == "NO_TRAINABLE_TOKENS"]
    assert told == [("open", 5, 1), ("closed", 5, 1)]
    assert steps[6].lr < steps[5].lr < steps[4].lr, "the schedule goes on by the number of the step"


def _silent(batch: Batch) -> Batch:
    return replace(batch, labels=torch.full_like(batch.labels, -100), loss_tokens=0)
