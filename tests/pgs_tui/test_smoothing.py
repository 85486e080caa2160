"""The moving average, which is kept at the end of every block and worked out in between."""

from __future__ import annotations

import math
import random
from array import array

import pytest

from pgs_tui.history.history import History
from pgs_tui.history.series import Series
from pgs_tui.history.smoothing import BLOCK, Smoothed
from tests.pgs_tui.making import stamped, step


def averages(values: list[float], alpha: float) -> list[float | None]:
    mean = weight = 0.0
    found: list[float | None] = []
    for value in values:
        if math.isfinite(value):
            mean, weight = alpha * mean + (1 - alpha) * value, alpha * weight + (1 - alpha)
        found.append(mean / weight if weight else None)
    return found


def some_values(count: int) -> list[float]:
    chance = random.Random(count)
    return [math.nan if chance.random() < 0.1 else chance.gauss(0, 1) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 700])
def test_it_is_the_plain_average_at_every_place(count: int) -> None:
    values, series = some_values(count), Series()
    smoothed = Smoothed(series, 0.9)
    for value in values:
        series.append(value)
        smoothed.follow()
    expected = averages(values, 0.9)
    assert [smoothed.at(index) for index in range(count)] == pytest.approx(expected)
    assert smoothed.last == pytest.approx(expected[-1])


@pytest.mark.parametrize("count", [5, BLOCK, 700])
def test_extremes_are_those_of_the_plain_average(count: int) -> None:
    values, series = some_values(count), Series()
    for value in values:
        series.append(value)
    smoothed, expected = Smoothed(series, 0.98).follow(), averages(values, 0.98)
    chance = random.Random(0)
    for _ in range(60):
        start, end = sorted(chance.randint(0, count) for _ in range(2))
        known = [one for one in expected[start:end] if one is not None]
        plain = (min(known), max(known)) if known else (math.inf, -math.inf)
        assert smoothed.extent(start, end) == pytest.approx(plain)


def test_a_long_series_is_averaged_in_one_go_as_step_by_step() -> None:
    values, at_once, grown = some_values(5000), Series(), Series()
    at_once.extend(array("d", values))
    together, one_by_one = Smoothed(at_once, 0.9).follow(), Smoothed(grown, 0.9)
    for value in values:
        grown.append(value)
        one_by_one.follow()
    assert together.extent(100, 4900) == pytest.approx(one_by_one.extent(100, 4900))
    expected = averages(values, 0.9)
    for index in (63, 64, 300, 2999, 4999):
        assert together.at(index) == pytest.approx(expected[index])
        assert one_by_one.at(index) == pytest.approx(expected[index])


def test_after_a_resume_it_goes_on_from_what_was_kept() -> None:
    values = some_values(500)
    history = History()
    history.fold(stamped(*(step(number, value) for number, value in enumerate(values, 1))))
    history.smooth_columns("loss", 0.98, 1, 501, 50)
    history.fold(stamped(*(step(number, 7.0) for number in range(300, 401))))
    history.smooth_columns("loss", 0.98, 1, 501, 50)
    assert history.smoothed("loss") == pytest.approx(averages(values[:299] + [7.0] * 101, 0.98)[-1])


def test_another_constant_is_another_average() -> None:
    history = History()
    history.fold(stamped(*(step(number, float(number)) for number in range(1, 50))))
    history.smooth_columns("loss", 0.98, 1, 50, 10)
    history.smooth_columns("loss", 0.5, 1, 50, 10)
    assert history.smoothed("loss") == pytest.approx(averages([float(number) for number in range(1, 50)], 0.5)[-1])
