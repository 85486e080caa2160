"""`--measure` from its refusal to the calibration that is kept."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from engine.config import Config
from engine.errors import UserError
from engine.profile.calibration import calibration_path, store
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

    `estimate` is the one without calibration. Raises UserError where there is no such GPU, while a run of ours or
    another measurement is on it, and when the engine fails; MeasuringStoppedError when `is_stopped` said so.
    """
    gpu = find_gpu()
    with _alone_on(gpu):
        measurement = train(config, gpu, tell, is_stopped)
    if not measurement.fits:
        return MeasuredHere(measurement, "nothing of it is kept: there are no figures")
    try:
        path = store(config, estimate, measurement)
    except UserError as error:
        return MeasuredHere(measurement, str(error))
    return MeasuredHere(measurement, f"kept in {path}: later estimates for this GPU and this torch use it, and say so")


@contextmanager
def _alone_on(gpu: GpuToMeasure) -> Iterator[None]:
    """Within, no other measurement of this user starts on that GPU. The lock goes with the process, however it ends."""
    with _lock_file(gpu) or nullcontext() as file:
        if file is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(
                    f"--measure: another measurement is going on on GPU {gpu.index} ({gpu.name}), and each would spoil "
                    "the other's figures: wait for its end."
                ) from error
        yield


def _lock_file(gpu: GpuToMeasure) -> IO[str] | None:
    """None where nothing can be written: then nobody else's measurement is known of either."""
    try:
        path = calibration_path().with_name(f"measuring-{gpu.uuid}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")
    except OSError:
        return None
