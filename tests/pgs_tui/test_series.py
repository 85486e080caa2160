import math
import random
from array import array

import pytest

from pgs_tui.history.series import Precision, Reducer, Series


def series_of(values: list[float | None]) -> Series:
    series = Series()
    for value in values:
        series.append(value)
    return series


def reduce(values: list[float | None], columns: int, steps: range | None = None):
    numbers = steps or range(1, len(values) + 1)
    return Reducer().reduce(array("q", numbers), series_of(values), numbers[0], numbers[-1] + 1, columns)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 255, 256, 257, 5000])
def test_extent_equals_the_plain_minimum_and_maximum(count: int) -> None:
    chance = random.Random(count)
    values = [chance.gauss(0, 1) for _ in range(count)]
    series = series_of(list(values))
    for _ in range(50):
        start, end = sorted(chance.randint(0, count) for _ in range(2))
        part = values[start:end]
        assert series.extent(start, end) == ((min(part), max(part)) if part else (math.inf, -math.inf))


def test_a_spike_of_one_step_in_a_million_is_in_its_column() -> None:
    series = Series()
    for number in range(1_000_000):
        series.append(9.0 if number == 654_321 else 1.0 + number % 7 / 100)
    columns = Reducer().reduce(array("q", range(1_000_000)), series, 0, 1_000_000, 150)
    spiked = [place for place, high in enumerate(columns.high) if high == 9.0]
    assert spiked == [654_321 * 150 // 1_000_000]
    assert columns.low[spiked[0]] == 1.0


def test_values_that_are_not_finite_are_marks_and_spoil_no_extreme() -> None:
    columns = reduce([2.1, 2.0, math.nan, 1.9, math.inf, -math.inf, 1.8, None], 8)
    assert columns.marks == {2, 4, 5}
    assert columns.extent() == (1.8, 2.1)
    assert columns.low[7] == math.inf, "a value that was not measured is a gap without a mark"


def test_a_series_of_nothing_but_nan_has_no_extent() -> None:
    columns = reduce([math.nan] * 40, 4)
    assert columns.extent() == (math.inf, -math.inf)
    assert columns.marks == {0, 1, 2, 3}


def test_one_point_fills_one_column() -> None:
    columns = reduce([3.0], 10)
    assert [place for place, low in enumerate(columns.low) if low == 3.0] == [0]


def test_fewer_points_than_columns_leave_gaps() -> None:
    columns = reduce([1.0, 2.0, 3.0], 9)
    assert [low for low in columns.low if low != math.inf] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("start", "end"), [(1, 500), (100, 200), (390, 2000)])
def test_reducing_again_after_growth_equals_reducing_afresh(start: float, end: float) -> None:
    chance = random.Random(3)
    steps, series, reducer = array("q"), Series(), Reducer()
    for number in range(1, 400):
        steps.append(number)
        series.append(math.nan if number % 37 == 0 else chance.random())
        grown = reducer.reduce(steps, series, start, end, 23)
        assert grown == Reducer().reduce(steps, series, start, end, 23)


def test_only_the_columns_that_grew_are_looked_at_again() -> None:
    series = series_of([1.0] * 10_000)
    steps, reducer = array("q", range(10_000)), Reducer()
    reducer.reduce(steps, series, 0, 20_000, 100)
    looked: list[int] = []
    extent = series.extent
    series.extent = lambda start, end: looked.append(start) or extent(start, end)  # type: ignore[method-assign]
    steps.append(10_000)
    series.append(2.0)
    reducer.reduce(steps, series, 0, 20_000, 100)
    assert len(looked) <= 2


def test_truncation_forgets_values_marks_and_blocks() -> None:
    values: list[float | None] = [float(number) for number in range(600)]
    values[550] = math.nan
    series = series_of(values)
    series.truncate(300)
    assert list(series.marks) == []
    assert series.extent(0, 600) == (0.0, 299.0)
    for number in range(300, 700):
        series.append(-float(number))
    assert series.extent(0, 700) == (-699.0, 299.0)


def test_the_last_value_tells_nan_from_missing() -> None:
    assert series_of([]).last is None
    assert series_of([1.0, None]).last is None
    assert math.isnan(series_of([1.0, math.nan]).last or 0.0)
    assert series_of([1.0, 2.0]).last == 2.0


def test_no_columns_and_no_width_are_harmless() -> None:
    assert reduce([1.0, 2.0], 0).low == ()
    assert Reducer().reduce(array("q", [5]), series_of([1.0]), 5, 5, 3).extent() == (math.inf, -math.inf)


@pytest.mark.parametrize("precision", ["d", "f"])
@pytest.mark.parametrize("cut", [0, 1, 15, 16, 17, 300, 599, 600])
def test_many_at_once_are_the_same_as_one_by_one(precision: Precision, cut: int) -> None:
    chance = random.Random(cut)
    odd = [None, math.nan, math.inf, -math.inf, 1e300, -1e300]
    values = [chance.choice(odd) if place % 97 == 0 else chance.gauss(0, 1) for place in range(600)]
    single, blocks = Series(precision), Series(precision)
    for value in values:
        single.append(value)
    for part in (values[:cut], values[cut:]):
        nan_at = [place for place, value in enumerate(part) if value is not None and value != value]
        blocks.extend(array("d", [math.nan if value is None else value for value in part]), nan_at)
    assert [repr(blocks.at(index)) for index in range(600)] == [repr(single.at(index)) for index in range(600)]
    assert blocks.marks == single.marks
    assert blocks.extent(3, 590) == single.extent(3, 590)


def test_float32_keeps_what_is_finite_finite() -> None:
    series = Series("f")
    series.append(1e300)
    series.extend(array("d", [-1e300, math.inf]))
    low, high = series.extent(0, 3)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert list(series.marks) == [2], "infinity is none of them"
