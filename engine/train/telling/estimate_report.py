"""What a run on a GPU is expected to take of its memory, told before it trains, and whether its steps keep to that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from engine.config import Config
from engine.events import Estimate, Step
from engine.units import GIB

if TYPE_CHECKING:
    from engine.data.feeding.batches import Batch
    from engine.memory.estimate import Estimate as MemoryEstimate
    from engine.memory.estimate.model_shape import ModelShape
    from engine.profile.calibration import Calibration
    from engine.session.session import Session

FAR_OFF = 0.03
"""An estimate is meant to be within this share of the truth."""
WARM_UP = 1
"""Steps of this process that tune kernels, with memory of their own."""


class EstimateCheck:
    """Compares steps with the estimate; speaks once."""

    def __init__(self, peak: float, widest_slots: int) -> None:
        """`peak` in GiB is that of a step of `widest_slots` slots, the most that one can have."""
        self._peak = peak
        self._widest = widest_slots
        self._steps = 0
        self._has_spoken = False

    def sentence(self, step: Step) -> str | None:
        """For people, where the step's peak is far from the estimate. One of a narrower batch may be far below it."""
        self._steps += 1
        peak = step.mem.peak
        if self._has_spoken or self._steps <= WARM_UP or peak is None or step.skipped:
            return None
        off = peak / self._peak - 1
        if abs(off) <= FAR_OFF or (off < 0 and step.slots < self._widest):
            return None
        self._has_spoken = True
        return (
            f"note: a step takes {peak:.2f} GiB at the peak, {abs(off):.1%} {'more' if off > 0 else 'less'} than the "
            f"{self._peak:.2f} GiB that were expected; `pgs profile --measure` makes estimates on this machine closer"
        )


def tell_estimate(
    config: Config, session: Session, device: torch.device, widest_batch: Callable[[], Batch]
) -> EstimateCheck | None:
    """Tell what steps of the widest batch will take, as an event and a line; None on the CPU, where nothing is told.

    A run never fails for that: what goes wrong is a note.
    """
    if not is_told_on(device):
        return None
    try:
        widest = widest_batch()
        with torch.random.fork_rng(devices=[]):  # a run's numbers are the same with and without it
            estimate, is_calibrated, tok_s = _estimate(_of_batch(config, widest), device)
    except Exception as error:  # whatever model, library or file it was: the run can do without
        session.say(f"note: its memory could not be estimated: {type(error).__name__}: {error}")
        return None
    session.emit(
        Estimate(
            peak=estimate.peak_gib,
            reserved=estimate.reserved_gib,
            components=dict(estimate.components),
            decides=estimate.decides,
            tok_s=tok_s,
        )
    )
    session.where.expected = f"{estimate.peak_gib:.1f} GiB at the peak ({estimate.decides})"
    how = ", calibrated by a measurement on this machine" if is_calibrated else ""
    session.say(
        f"expects {estimate.peak_gib:.2f} GiB of the GPU's memory at the peak ({estimate.decides}), "
        f"{estimate.reserved_gib:.2f} reserved{how}"
    )
    return EstimateCheck(estimate.peak_gib, widest.slots * config.train.gradient_accumulation_steps)


def is_told_on(device: torch.device) -> bool:
    """Estimates are those of a GPU's memory."""
    return device.type == "cuda"


def _of_batch(config: Config, widest: Batch) -> Config:
    """The config as if all batches were that one: the data may have no row of `data.max_seq_length` tokens."""
    lines, length = widest.input_ids.shape
    train = config.train.model_copy(update={"per_device_batch_size": lines})
    return config.model_copy(update={"train": train, "data": config.data.model_copy(update={"max_seq_length": length})})


def _estimate(config: Config, device: torch.device) -> tuple[MemoryEstimate, bool, float | None]:
    """The estimate, whether a measurement on this GPU had a part in it, and tokens a second with padding."""
    from engine.memory.estimate import estimate_memory
    from engine.memory.estimate.model_shape import model_shape
    from engine.profile.calibration import calibration_of

    shape = model_shape(config)
    estimate = estimate_memory(config, shape)
    known = calibration_of(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
    calibrated = estimate if known is None else known.applied(config, estimate)
    return calibrated, calibrated is not estimate, _speed(config, shape, calibrated, known, device)


def _speed(
    config: Config, shape: ModelShape, estimate: MemoryEstimate, known: Calibration | None, device: torch.device
) -> float | None:
    """Tokens a second with padding that the config is expected to reach; None for a GPU whose rate is not known."""
    from engine.memory.advice.gpus import gpu_called
    from engine.memory.advice.throughput import throughput
    from engine.model.flops import products_of

    measured = known.speed(config, estimate) if known is not None else None
    if measured is not None:
        return measured.tok_s
    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    gpu = gpu_called(properties.name, properties.total_memory / GIB)
    if gpu is None:
        return None
    return throughput(products_of(shape.model_for(config)), config, estimate.trained, gpu).tok_s
