"""`--measure` from its refusal to the calibration that is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.config import Config
from engine.errors import UserError
from engine.profile.calibration import store
from engine.profile.gpu_to_measure import GpuToMeasure, gpu_to_measure
from engine.profile.measure import Measurement, Tell, measure

if TYPE_CHECKING:
    from engine.memory.estimate import Estimate


@dataclass(frozen=True, slots=True)
class MeasuredHere:
    """What was measured on this machine's GPU, and a sentence on where that is kept, or why it is not."""

    measurement: Measurement
    kept: str


def measure_here(
    config: Config,
    estimate: Estimate,
    tell: Tell,
    is_stopped: Callable[[], bool] = lambda: False,
    find_gpu: Callable[[], GpuToMeasure] = gpu_to_measure,
    train: Callable[[Config, GpuToMeasure, Tell, Callable[[], bool]], Measurement] = measure,
) -> MeasuredHere:
    """Measure the config on the GPU that it would train on, and keep that for later estimates.

    `estimate` is the one without calibration. Raises UserError where there is no such GPU, while a run of ours is on
    it, and when the engine fails; MeasuringStoppedError when `is_stopped` said so.
    """
    measurement = train(config, find_gpu(), tell, is_stopped)
    try:
        path = store(config, estimate, measurement)
    except UserError as error:
        return MeasuredHere(measurement, str(error))
    return MeasuredHere(measurement, f"kept in {path}: later estimates for this GPU and this torch use it, and say so")
