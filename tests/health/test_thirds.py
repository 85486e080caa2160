"""Thirds of a window rise where each step up is beyond their noise, which is measured only where they do go up."""

from __future__ import annotations

import random
import statistics

import pytest

from engine.health.baseline import MAD_TO_SIGMA
from engine.health.thirds import CERTAIN, EACH_STEP_SHARE, MEDIAN_ERROR, Window


def rises(values: list[float]) -> bool:
    """By the definition: each third above the one before, the whole beyond the error of a difference of medians."""
    size = len(values) // 3
    parts = [values[begin : begin + size] for begin in range(len(values) - 3 * size, len(values), size)]
    first, middle, last = medians = [statistics.median(part) for part in parts]
    deviations = [abs(value - level) for part, level in zip(parts, medians, strict=True) for value in part]
    error = statistics.median(deviations) * MAD_TO_SIGMA * MEDIAN_ERROR * (2 / size) ** 0.5
    steadily = min(middle - first, last - middle) >= EACH_STEP_SHARE * (last - first)
    return last - first > CERTAIN * error and steadily


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2, 1.0])
@pytest.mark.parametrize("slope", [-0.01, 0.0, 0.001, 0.01, 0.1])
def test_rising_is_what_its_definition_says(noise: float, slope: float) -> None:
    rng = random.Random(5)
    window, taken = Window(size=61, every=7, least=20), []
    looks = 0
    for step in range(400):
        taken.append(slope * step + noise * rng.gauss(0, 1))
        thirds = window.take(taken[-1])
        if thirds is not None:
            looks += 1
            kept = taken[-61:]
            assert thirds.rises == rises(kept), step
            assert thirds.values == 3 * (len(kept) // 3)
    assert looks == 55
