"""What is usual comes out as sorting every window anew would have it, to the last bit: skips hang on it."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence

import pytest

from engine.health.baseline import (
    FIRST_LEVEL,
    MAD_TO_SIGMA,
    MINIMUM,
    RECENT,
    UPPER_QUANTILE,
    UPPER_QUANTILE_SIGMAS,
    WINDOW,
    YOUTH,
    Baseline,
    Usual,
    quantile,
)

FLOOR = 0.05
WILD = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.7e308, -1.7e308, 5e-324)
STREAMS: dict[str, Callable[[random.Random], float]] = {
    "losses": lambda noise: noise.lognormvariate(0, 0.3),
    "few different values": lambda noise: float(noise.randrange(5)),
    "near zero": lambda noise: noise.gauss(0, 1e-6),
    "numbers that are none among them": lambda noise: math.nan if noise.random() < 0.02 else noise.gauss(2, 1),
    "everything": lambda noise: noise.choice((*WILD, noise.gauss(0, 1), noise.gauss(0, 1e300))),
}


class SortingBaseline:
    """The same baseline by its definition."""

    def __init__(self, values: Sequence[float] = (), deviations: Sequence[float] = ()) -> None:
        self.values, self.deviations = list(values), list(deviations)

    def level(self) -> float:
        return min(statistics.median(self.values), statistics.median(self.values[-RECENT:]))

    def feed(self, value: float) -> None:
        if len(self.values) >= FIRST_LEVEL:
            level = self.level()
            self.deviations = [*self.deviations, (value - level) / max(abs(level), FLOOR)][-WINDOW:]
        self.values = [*self.values, value][-WINDOW:]

    def usual(self) -> Usual | None:
        if len(self.deviations) < MINIMUM:
            return None
        ordered = sorted(self.deviations)
        middle = quantile(ordered, 0.5)
        mad = statistics.median(abs(deviation - middle) for deviation in ordered)
        share = max(mad * MAD_TO_SIGMA, quantile(ordered, UPPER_QUANTILE) / UPPER_QUANTILE_SIGMAS)
        level = self.level()
        spread = max(max(share, FLOOR) * abs(level), FLOOR)
        return Usual(level, spread * (1.0 + YOUTH / len(self.deviations)))


@pytest.mark.parametrize("stream", STREAMS)
def test_usual_is_that_of_sorted_windows(stream: str) -> None:
    noise = random.Random(3)
    baseline, expected = Baseline(FLOOR, FLOOR), SortingBaseline()
    for count in range(4 * WINDOW):
        value = STREAMS[stream](noise)
        baseline.feed(value)
        expected.feed(value)
        assert repr(baseline.usual()) == repr(expected.usual()), count  # as text: nan is nan, and -0.0 is not 0.0


def test_usual_is_the_same_after_a_shift_and_after_a_resume() -> None:
    noise = random.Random(4)
    baseline = Baseline(FLOOR, FLOOR)
    for _ in range(WINDOW + 7):
        baseline.feed(noise.gauss(2, 0.1))
    shifted = [noise.gauss(3, 0.1) for _ in range(10)]
    for value in shifted:
        baseline.note_outlier(value)
    baseline.accept_shift()
    resumed = Baseline(FLOOR, FLOOR)
    resumed.load_state_dict(baseline.state_dict())
    expected = SortingBaseline(shifted, baseline.state_dict()["deviations"])
    for _ in range(2 * WINDOW):
        value = noise.gauss(3, 0.1)
        for one in (baseline, resumed, expected):
            one.feed(value)
        assert baseline.usual() == resumed.usual() == expected.usual()
