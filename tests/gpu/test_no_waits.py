"""A step on a GPU waits at its gate alone, and without gradient release once more for the norm that clips."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.train.loop import Trainer
from tests.train.conftest import Outcome
from tests.train.stack import BF16, RELEASE

from .machine import HAS_GPU, on_gpu_alone

pytestmark = pytest.mark.gpu
WARM_UP = 2
"""Steps in which kernels are compiled and tuned, which waits."""
STEPS = 6
PACKED = ("--data.packing", "true", "--data.max_seq_length", 512)
FULL = ("--train.gradient_checkpointing", "full")
SELECTIVE = ("--train.gradient_checkpointing", "selective")
TILED = ("--memory.tiled_head", "true")
OFFLOAD = ("--memory.offload_activations", "true", "--train.per_device_batch_size", 32)
"""So many rows that the inputs of layers are above the 1 MiB from which on they leave the GPU."""
COMPILED = ("--model.compile", "true")
SLICES = ("--train.per_device_batch_size", 4, "--memory.layer_slices", 2)
SETTINGS: dict[str, tuple[Any, ...]] = {
    "rows-release": (*RELEASE, *BF16, *FULL),
    "packs-release": (*RELEASE, *BF16, *PACKED, *SELECTIVE),
    "rows-tiled-offload": (*RELEASE, *BF16, *FULL, *TILED, *OFFLOAD),
    "packs-hyperball-prefetch": (*RELEASE, *BF16, *PACKED, *FULL, "--train.hyperball", "true", "--data.num_workers", 2),
    "packs-compiled-tiled": (*RELEASE, *BF16, *PACKED, *FULL, *TILED, *COMPILED),
    "packs-compiled-slices": (*RELEASE, *BF16, *PACKED, *FULL, *COMPILED, *SLICES),
    "rows-compiled-offload": (*RELEASE, *BF16, *SELECTIVE, *COMPILED, *OFFLOAD),
    "rows-clipped": (*BF16, *FULL, "--train.gradient_accumulation_steps", 2),
}
Wait = tuple[str, int]
"""The file and the line where the program waited; in the backward pass of autograd that of torch which began it."""


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[list[Wait]]:
    """For each step behind the warm-up where it waited for the device; filled by the next run."""
    found: list[list[Wait]] = []
    step = Trainer.train_step

    def watched(trainer: Trainer) -> None:
        if trainer.progress.step < WARM_UP:
            step(trainer)
            return
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                step(trainer)
            finally:
                torch.cuda.set_sync_debug_mode("default")
        synchronizing = [one for one in caught if "synchronizing CUDA operation" in str(one.message)]
        found.append([(Path(one.filename).name, one.lineno) for one in synchronizing])

    if HAS_GPU:
        monkeypatch.setattr(Trainer, "train_step", watched)
    return found


@on_gpu_alone
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_step_waits_at_its_gate_alone(
    train: Callable[..., Outcome], waits: list[list[Wait]], settings: tuple[Any, ...]
) -> None:
    done = train(*settings, "--train.max_steps", STEPS, "--train.spike_detection", "true")
    assert done.code == 0, done.end.reason
    assert len(waits) == STEPS - WARM_UP
    wanted = ["gate.py", "clipping.py"] if settings is SETTINGS["rows-clipped"] else ["gate.py"]
    for places in waits:
        assert [file for file, _ in places] == wanted, places


@on_gpu_alone
def test_what_goes_to_the_device_from_ordinary_memory_waits_for_nothing() -> None:
    from engine.to_device import to_device

    device = torch.device("cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        there = to_device(torch.arange(1000), device)
        assert to_device(there, device) is there
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(there.cpu(), torch.arange(1000))


@pytest.mark.skipif(HAS_GPU, reason="tries these runs where there is no GPU to wait for")
@pytest.mark.parametrize("settings", [SETTINGS["packs-hyperball-prefetch"], SETTINGS["rows-clipped"]])
def test_the_runs_themselves_end_well(train: Callable[..., Outcome], settings: tuple[Any, ...]) -> None:
    assert train(*settings, "--train.max_steps", 3).code == 0
