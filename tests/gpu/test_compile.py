"""Compiled layers: the losses of the eager ones, no graph break, and nothing compiled again after the rehearsal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from engine.events import Step
from tests.train.conftest import Outcome
from tests.train.stack import RELEASE

from .machine import HAS_GPU

pytestmark = pytest.mark.gpu
STEPS = 8
PACKED = ("--data.packing", "true", "--data.max_seq_length", 512)
TOLERANCE = 1e-2 if HAS_GPU else 1e-4
"""Share of a loss: bfloat16 on the GPU, where fused operations round less often; float32 on the CPU."""
OFFLOAD = ("--memory.offload_activations", "true", "--train.per_device_batch_size", 10)
"""So many rows that the inputs of layers are above the 1 MiB from which on they leave the GPU, if one row is long."""

SLICES = ("--train.per_device_batch_size", 3, "--memory.layer_slices", 2)
"""Of two lines and of one."""


@pytest.mark.parametrize(
    "settings",
    [
        (*PACKED, "--train.gradient_checkpointing", "selective", *RELEASE),
        ("--train.gradient_checkpointing", "full", *RELEASE, *OFFLOAD),
        (*PACKED, "--train.freeze_non_attention", "true"),
        (*PACKED, "--train.gradient_checkpointing", "full", *RELEASE, *SLICES),
        ("--train.gradient_checkpointing", "full", *RELEASE, *OFFLOAD, "--memory.layer_slices", 3),
    ],
    ids=["packs-selective-release", "rows-full-release-offload", "packs-frozen", "packs-slices", "rows-offload-slices"],
)
def test_varying_packs_and_rows_compile_nothing_again(train: Callable[..., Outcome], settings: tuple[Any, ...]) -> None:
    common = (*settings, "--train.max_steps", STEPS, "--train.learning_rate", 1e-4)
    eager = train(*common)
    torch._dynamo.utils.counters.clear()
    compiled = train(*common, "--model.compile", "true")
    assert (compiled.code, eager.code) == (0, 0)
    assert not torch._dynamo.utils.counters["graph_break"]
    steps = compiled.of(Step)
    assert len({(len(step.rows), step.slots) for step in steps}) > 1, "the shapes do not vary"
    assert [step.recompiles for step in steps[1:]] == [0] * (STEPS - 1)
    assert {step.recompiles for step in eager.of(Step)} == {None}
    for ours, its in zip(steps, eager.of(Step), strict=True):
        assert ours.loss == pytest.approx(its.loss, rel=TOLERANCE)
    assert steps[0].hidden_norm == pytest.approx(eager.of(Step)[0].hidden_norm, rel=2 * TOLERANCE)
    assert steps[0].grad_norm == pytest.approx(eager.of(Step)[0].grad_norm, rel=3 * TOLERANCE)
