"""Qwen3.5-4B's layers, held against what an H200 measured of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.memory.estimate.layers import layer_bytes, layers_by_kind
from engine.memory.estimate.layers.imagined import IMAGINED
from engine.memory.estimate.layers.tape import Tape
from engine.units import GIB, MIB
from tests.memory.estimate.layers.models import qwen, way

MEASURED = Path(__file__).parents[4] / "docs" / "performance" / "layers.json"
BATCH = (4, 4096)
INPUT = 4 * 4096 * 2560 * 2
SAVED_BY_FLOAT8 = 29_184
"""Bytes a token and layer: what all_4x4096_free_fp8 of docs/performance/h200.json held less than all_4x4096_free, both
at their highest moment, which is the same one."""
RULE_MIB = {"l2norm": 32, "states": 128, "w and u": 64, "new values": 32, "dv": 32, "dw": 32, "dq and dk": 32} | {
    "dk and dv of w and u": 64
}
"""Of the kernels of the delta rule at the highest moment of a step of 2 lines of 2,048 tokens (`allocations_gib`)."""


def measured(way_of_layer: str) -> dict[str, float]:
    rows: list[dict[str, Any]] = json.loads(MEASURED.read_text())["rows"]
    return {row["layer"]: row["kept_gib"] * GIB for row in rows if row["way"] == way_of_layer}


def test_the_layers_are_those_of_the_architecture() -> None:
    assert layers_by_kind(qwen()) == {"linear_attention": 24, "full_attention": 8}


def test_eager_layers_keep_what_was_measured() -> None:
    told = layer_bytes(qwen(), way(), *BATCH)
    found = {kind: of_kind.kept + INPUT for kind, of_kind in told.items()}  # the bench holds the input, a run does not
    assert found == pytest.approx(measured("as it is"), rel=1e-4)


def test_compiled_layers_keep_what_was_measured() -> None:
    """The bench holds one tensor of the layer's input more than a run does, whose rows come out within 0.1 %."""
    told = layer_bytes(qwen(), way(model__compile=True), *BATCH)
    found = {kind: of_kind.kept + INPUT for kind, of_kind in told.items()}
    assert found == pytest.approx(measured("compiled"), rel=1e-3)


def test_float8_saves_what_was_measured() -> None:
    keys = {"model__compile": True, "memory__gradient_release": True}
    plain = layer_bytes(qwen(), way(**keys), *BATCH)
    float8 = layer_bytes(qwen(), way(memory__float8_training=True, **keys), *BATCH)
    for kind in plain:
        saved = (plain[kind].kept - float8[kind].kept) / (BATCH[0] * BATCH[1])
        assert saved == pytest.approx(SAVED_BY_FLOAT8, rel=1e-3)


@pytest.mark.parametrize(
    ("mixers_alone", "slices", "batch", "gib"),
    [
        (False, 1, (2, 2048), 0.910),
        (True, 1, (2, 2048), 0.747),
        (False, 1, (4, 4096), 3.246),
        (False, 4, (4, 4096), 1.242),
    ],
)
def test_a_recomputed_layer_at_work_takes_what_was_measured(
    mixers_alone: bool, slices: int, batch: tuple[int, int], gib: float
) -> None:
    """Peaks of docs/performance/h200.json less weights, state, layer inputs and what the loss left."""
    keys = {"train__gradient_checkpointing": "full", "memory__gradient_release": True, "model__compile": True}
    size = {"train__per_device_batch_size": batch[0], "memory__layer_slices": slices}
    told = layer_bytes(qwen(mixers_alone=mixers_alone), way(**keys, **size), *batch)
    assert max(of_kind.backward for of_kind in told.values()) / GIB == pytest.approx(gib, rel=0.025)


def test_the_rule_s_kernels_hold_what_was_seen() -> None:
    def empty(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        return torch.empty(*shape, dtype=dtype, device="meta")

    batch, heads, value_heads, width = (2, 2048), 16, 32, 128
    inputs = [empty(*batch, count, width) for count in (value_heads, heads, heads, value_heads)]
    inputs += [empty(*batch, value_heads, dtype=torch.float32), empty(*batch, value_heads)]
    inputs += [empty(*batch, value_heads, dtype=torch.float32), empty(*batch, value_heads, 64)]
    tape = Tape(IMAGINED)
    with tape:
        torch.ops.pgs.gated_delta_rule_backward(*inputs)
    storages = tape.ended().storages
    ends = [len(tape.recording.operations) if one.died is None else one.died for one in storages]
    highest = max(
        sum(one.nbytes for one, end in zip(storages, ends, strict=True) if one.born <= at < end)
        for at in range(len(tape.recording.operations))
    )
    assert highest / MIB == pytest.approx(sum(RULE_MIB.values()), rel=0.05)
