"""A window kept in order tells the median that sorting its values would."""

from __future__ import annotations

import statistics

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.health.sorted_window import SortedWindow, median_distance

SIZE = 7
WHOLE = st.integers(-5, 5).map(float)
NUMBERS = WHOLE | st.floats(allow_nan=False)
STREAMS = st.lists(NUMBERS, min_size=1, max_size=40)


@settings(max_examples=100, deadline=None)
@given(st.lists(NUMBERS | st.just(float("nan")), min_size=1, max_size=40))
def test_its_median_is_that_of_its_values(values: list[float]) -> None:
    window = SortedWindow(SIZE)
    for count, value in enumerate(values, 1):
        window.append(value)
        kept = values[max(count - SIZE, 0) : count]
        assert repr(list(window)) == repr(kept)
        assert same(window.median(), statistics.median(kept))


@settings(max_examples=100, deadline=None)
@given(STREAMS, st.lists(NUMBERS, min_size=1, max_size=5))
def test_it_begins_with_the_newest_of_what_it_is_given(values: list[float], more: list[float]) -> None:
    window, expected = SortedWindow(SIZE, values), SortedWindow(SIZE)
    for value in values:
        expected.append(value)
    for value in more:
        window.append(value)
        expected.append(value)
    assert list(window) == list(expected) and same(window.median(), expected.median())


@settings(max_examples=100, deadline=None)
@given(STREAMS, NUMBERS)
def test_the_median_distance_is_that_of_the_distances(values: list[float], center: float) -> None:
    found = median_distance(sorted(values), center)
    assert same(found, statistics.median(abs(value - center) for value in values))


def same(one: float, other: float) -> bool:
    """Equal; NaN is NaN."""
    return one == other or (one != one and other != other)
