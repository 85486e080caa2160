import math
from itertools import pairwise

import pytest

from pgs_tui.widgets.axes import GUTTER, Limits, axis_labels, choose_limits, nice_end, robust_top, scaffold, step_ticks


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1.67, 11.2), (-3.0, 4.0), (2.0, 2.0), (0.0, 0.0), (1e-9, 2e-9)])
def test_limits_are_round_and_hold_everything(low: float, high: float) -> None:
    limits = choose_limits(low, high, None)
    assert limits.low <= low
    assert limits.high >= high
    assert limits.low < limits.high


def test_a_few_outliers_do_not_flatten_the_rest() -> None:
    usual = [1.0 + place % 10 / 10 for place in range(100)]
    assert robust_top([*usual, 50.0], 1.0) < 3
    assert robust_top([*usual, 2.1], 1.0) == 2.1
    assert robust_top([1.0, 50.0], 1.0) == 50.0, "of two points none is an outlier"


def test_the_end_of_the_view_grows_in_jumps_and_ends_with_the_run() -> None:
    ends = [nice_end(last, None) for last in range(1, 100_000, 7)]
    assert all(later >= earlier for earlier, later in pairwise(ends))
    assert len(set(ends)) < 60
    assert all(end >= last for end, last in zip(ends, range(1, 100_000, 7), strict=True))
    assert nice_end(250, 300) == 300
    assert nice_end(310, 300) == 310, "a run longer than it was said to be"


@pytest.mark.parametrize(("start", "end"), [(1, 20), (1, 2), (1, 1_000_000), (4001, 4400), (0, 5)])
@pytest.mark.parametrize("width", [17, 53, 393])
def test_step_ticks_rise_and_stay_inside(start: int, end: int, width: int) -> None:
    ticks = step_ticks(start, end, width)
    assert ticks == sorted(set(ticks))
    assert ticks[0] == start
    assert ticks[-1] == end


@pytest.mark.parametrize("scale", [1e-7, 1e-3, 0.5, 1, 10, 1234, 9e4, 5e5, 1e7, 1e12])
def test_labels_fit_the_gutter_and_differ(scale: float) -> None:
    labels = axis_labels([place * scale for place in range(5)])
    assert all(len(label) < GUTTER for label in labels)
    assert len(set(labels)) == 5


def test_the_scaffold_leaves_the_canvas_free() -> None:
    rows = scaffold(60, 10, 1, 100, Limits(0.0, 4.0))
    assert len(rows) == 10
    assert {len(row) for row in rows} == {60}
    assert all(not row[GUTTER:].strip() for row in rows[:-1])
    assert rows[0].split() == ["4"]
    assert rows[8].split() == ["0"]
    assert rows[-1].split()[0] == "1"
    assert rows[-1].split()[-1] == "100"


def test_places_on_a_log_axis() -> None:
    limits = Limits(0.01, 100.0, log=True)
    assert limits.place(1.0) == pytest.approx(0.5)
    assert limits.place(0.0) < 0
    assert not math.isnan(limits.place(-5.0))


@pytest.mark.parametrize("height", range(5, 16))
@pytest.mark.parametrize("limits", [Limits(0.0, 15.0), Limits(0.2, 0.8), Limits(0.0, 4.0), Limits(1.67, 11.2)])
def test_a_scale_has_two_labels_and_even_distances(height: int, limits: Limits) -> None:
    rows = scaffold(60, height, 1, 100, limits)[:-1]
    places = [place for place, row in enumerate(rows) if row[:GUTTER].strip()]
    distances = [later - earlier for earlier, later in pairwise(places)]
    assert distances
    assert min(distances) > 1
    assert max(distances) - min(distances) <= 1
