import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgs_tui.drawing.axes import GUTTER, Limits, choose_limits, nice_end, robust_top
from pgs_tui.drawing.stills import frame_by_plotext
from pgs_tui.drawing.ticks import XAxis, axis_labels, frame_of, step_ticks


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


def test_the_labels_stand_where_their_values_are() -> None:
    frame = frame_of(60, 10, XAxis(1, 101), Limits(0.0, 4.0))
    assert [label.strip() for label in frame.gutter] == ["4", "", "3", "", "2", "", "1", "", "0"]
    assert {len(label) for label in frame.gutter} == {GUTTER}
    assert len(frame.bottom) == 60
    assert frame.bottom.split()[0] == "1"
    assert frame.bottom.split()[-1] == "100"


@pytest.mark.parametrize("limits", [Limits(0.0, 4.0), Limits(-3.0, 1.5), Limits(0.001, 100.0, log=True)])
def test_a_still_by_plotext_has_the_same_labels(limits: Limits) -> None:
    axis = XAxis(1, 5001)
    moving, still = frame_of(120, 14, axis, limits), frame_by_plotext(120, 14, axis, limits)
    assert [label.strip() for label in moving.gutter if label.strip()] == [
        label.strip() for label in still.gutter if label.strip()
    ]
    assert moving.bottom.split() == still.bottom.split()
    for row, label in enumerate(moving.gutter):
        if label.strip():
            nearby = " ".join(still.gutter[max(row - 1, 0) : row + 2]).split()
            assert label.strip() in nearby, "at most a row apart"


@pytest.mark.parametrize(
    ("limits", "labels"),
    [
        (Limits(0.5, 5.0, log=True), ["5.0", "0.5"]),
        (Limits(0.0005, 0.005, log=True), ["0.0050", "0.0005"]),
        (Limits(20.0, 200.0, log=True), ["200", "20"]),
        (Limits(0.1, 10.0, log=True), ["10.0", "1.0", "0.1"]),
    ],
)
def test_a_low_log_axis_has_two_labels_at_least(limits: Limits, labels: list[str]) -> None:
    assert " ".join(frame_of(60, 5, XAxis(1, 101), limits).gutter).split() == labels


def test_the_x_axis_says_what_it_is_told_to() -> None:
    axis = XAxis(0.0, 7200.0, lambda seconds: f"{seconds / 3600:.1f} h")
    assert frame_of(70, 10, axis, Limits(0.0, 1.0)).bottom.split()[:2] == ["0.0", "h"]
    assert frame_of(70, 10, axis, Limits(0.0, 1.0)).bottom.split()[-2:] == ["2.0", "h"]


def test_time_is_told_in_whole_minutes_and_hours() -> None:
    def clock(seconds: float) -> str:
        hours, minutes, rest = int(seconds) // 3600, int(seconds) // 60 % 60, int(seconds) % 60
        return f"{hours}h" * bool(hours) + f"{minutes}m" * bool(minutes) + f"{rest}s" * bool(rest or not seconds)

    for last in (1500.0, 20_000.0, 90_000.0):
        inner = frame_of(100, 10, XAxis(0.0, last, clock), Limits(0.0, 1.0)).bottom.split()[1:-1]
        assert len(inner) >= 3
        assert all("s" not in label for label in inner), inner
    tokens = frame_of(100, 10, XAxis(0.0, 90_000.0, lambda number: f"{number / 1000:g}k"), Limits(0.0, 1.0)).bottom
    assert {"20k", "40k", "60k", "80k"} <= set(tokens.split())


@given(
    width=st.integers(24, 400),
    height=st.integers(4, 60),
    start=st.floats(-1e18, 1e18),
    length=st.floats(0, 1e18),
    words=st.booleans(),
)
def test_no_part_of_the_axis_breaks_the_frame(
    width: int, height: int, start: float, length: float, words: bool
) -> None:
    axis = XAxis(start, start + length, (lambda position: f"{position:.3g}") if words else None)
    frame = frame_of(width, height, axis, Limits(0.0, 1.0))
    assert len(frame.bottom) == width
    assert {len(label) for label in frame.gutter} == {GUTTER}


def test_a_log_axis_stays_while_its_values_do() -> None:
    first = choose_limits(0.015, 3.0, None, log=True)
    assert choose_limits(0.03, 2.1, first, log=True) == first
    assert choose_limits(0.011, 4.0, first, log=True) == first, "inside still"
    assert choose_limits(0.001, 3.0, first, log=True).low <= 0.001
    assert choose_limits(1.0, 1.5, first, log=True) != first, "much too wide by now"


def test_places_on_a_log_axis() -> None:
    limits = Limits(0.01, 100.0, log=True)
    assert limits.place(1.0) == pytest.approx(0.5)
    assert limits.place(0.0) < 0
    assert not math.isnan(limits.place(-5.0))


@pytest.mark.parametrize("height", range(5, 16))
@pytest.mark.parametrize("limits", [Limits(0.0, 15.0), Limits(0.2, 0.8), Limits(0.0, 4.0), Limits(1.67, 11.2)])
def test_a_scale_has_two_labels_and_even_distances(height: int, limits: Limits) -> None:
    rows = frame_of(60, height, XAxis(1, 101), limits).gutter
    places = [place for place, label in enumerate(rows) if label.strip()]
    distances = [later - earlier for earlier, later in pairwise(places)]
    assert distances
    assert min(distances) > 1
    assert max(distances) - min(distances) <= 1
