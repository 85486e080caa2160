"""Memory for weights, gradients and optimizer state of a config; activations come on top."""

from __future__ import annotations

from engine.doctor.checks.sizes import STATE_BYTES, Sizes, sizes_of
from engine.doctor.result import Outcome, Patient, failed, ok, warning
from engine.monitor.host import machine_memory
from engine.units import GIB

TIGHT_SHARE = 0.8
"""Above this share of the memory little is left for activations."""


def check_memory(patient: Patient) -> Outcome:
    """Whether what a run of the config holds all the time fits; a container's limit counts."""
    where, free = _free()
    if patient.loaded is None:
        return ok(f"{free / GIB:.1f} GiB can be taken {where}")
    return judge(sizes_of(patient.loaded.config), free, where)


def judge(sizes: Sizes, free: int, where: str) -> Outcome:
    """The verdict from what a run holds and the bytes that can be taken."""
    held = f"{sizes.trained:,} of {sizes.weights:,} weights train and hold {sizes.held / GIB:.2f} GiB"
    found = f"{held} before activations, {free / GIB:.2f} GiB can be taken {where}"
    if sizes.held > free:
        return failed(found, _savings(sizes))
    if sizes.held > TIGHT_SHARE * free:
        recompute = "" if sizes.recomputes else "train.gradient_checkpointing: full, or "
        return warning(found, f"activations may not fit: {recompute}{_savings(sizes)}")
    return ok(found)


def _savings(sizes: Sizes) -> str:
    """What makes a run smaller and is not set yet, by what it costs."""
    savings = {
        "memory.gradient_release: true": not sizes.releases_gradients,
        "memory.tiled_head: true": sizes.releases_gradients and not (sizes.tiles_head or sizes.trains_mixers_alone),
        "train.optimizer: lion8bit": sizes.state_bytes_per_weight > STATE_BYTES["lion8bit"],
        "model.torch_dtype: bfloat16": sizes.bytes_per_weight > 2,
        "train.freeze_non_attention: true": not sizes.trains_mixers_alone,
        "a smaller model": True,
    }
    return ", ".join(key for key, is_left in savings.items() if is_left)


def _free() -> tuple[str, int]:
    import torch

    if torch.cuda.is_available():
        free, _ = torch.cuda.mem_get_info()
        return "on the GPU", free
    return "in main memory", machine_memory().available
