"""Measuring a config on this machine's GPU, and keeping what came out for later estimates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import Config
from engine.profile.calibration import store
from engine.profile.gpu_to_measure import gpu_to_measure
from engine.profile.measure import Measurement, MeasuringProgress, measure

if TYPE_CHECKING:
    from engine.memory.estimate import Estimate


def measure_and_keep(
    config: Config,
    estimate: Estimate,
    tell: Callable[[MeasuringProgress], None],
    is_stopped: Callable[[], bool] = lambda: False,
) -> tuple[Measurement, Path | None]:
    """What real steps took, and the file where that was kept: none where the memory did not suffice.

    `estimate` is the one without calibration. Raises UserError and MeasuringStoppedError as `measure` does.
    """
    measurement = measure(config, gpu_to_measure(), tell, is_stopped)
    return measurement, store(config, estimate, measurement) if measurement.fits else None
