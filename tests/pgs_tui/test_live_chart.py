"""A chart that draws only what differs looks like one that is drawn anew, and signs are told apart without colours."""

import math
from array import array
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgs_tui.appearance.look import GLYPH_NAMES, GlyphName
from pgs_tui.drawing.axes import Limits
from pgs_tui.drawing.chart import (
    BELOW,
    CLIPPED,
    NOT_FINITE,
    POINT,
    ChartMark,
    Curves,
    LiveChart,
    dot_columns,
    limits_of,
)
from pgs_tui.drawing.chart_layers import MARKS, OTHER_MARK
from pgs_tui.drawing.lines import Line, line_width, text_of, to_ascii
from pgs_tui.history.series import Columns, Series
from tests.pgs_tui.test_chart import Reducer, curves

WIDTH, HEIGHT = 60, 12
VALUES = st.one_of(st.none(), st.floats(-3, 3), st.sampled_from([math.nan, math.inf, 1e12, -1e12, 1e-300]))


def canvas(lines: tuple[Line, ...]) -> list[str]:
    return [text_of(row)[7:] for row in lines[:-1]]


def drawn(shown: Curves, limits: Limits | None = None, glyphs: GlyphName = "braille") -> list[str]:
    return canvas(LiveChart().draw(shown, WIDTH, HEIGHT, limits or limits_of(shown, False, None), glyphs))


@st.composite
def histories(draw: st.DrawFn) -> list[list[float | None]]:
    """A series as it was at several moments: it grows, and now and then its end is taken back."""
    values: list[float | None] = []
    moments = []
    for _ in range(draw(st.integers(2, 5))):
        values = values[: len(values) - draw(st.integers(0, 3))] + draw(st.lists(VALUES, max_size=40))
        moments.append(list(values))
    return moments


@settings(max_examples=60, deadline=None)
@given(moments=histories(), glyphs=st.sampled_from(GLYPH_NAMES), log=st.booleans(), room=st.integers(40, 400))
def test_drawn_in_parts_it_looks_like_drawn_at_once(
    moments: list[list[float | None]], glyphs: GlyphName, log: bool, room: int
) -> None:
    live, limits = LiveChart(), None
    for values in moments:
        shown = over(values, room, glyphs)
        limits = limits_of(shown, log, limits)
        again = LiveChart().draw(shown, WIDTH, HEIGHT, limits, glyphs)
        assert live.draw(shown, WIDTH, HEIGHT, limits, glyphs) == again


def over(values: list[float | None], room: int, glyphs: GlyphName) -> Curves:
    """The values and their running mean over a window of `room` steps, of which they fill a part."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    smooth = [sum(finite[: place + 1]) / (place + 1) for place in range(len(finite))]
    count = dot_columns(WIDTH, HEIGHT, glyphs)
    steps = array("q", range(1, len(values) + 1))
    raw, mean = (reduced(steps, one, room, count) for one in (values, smooth + [None] * (len(values) - len(smooth))))
    marks = tuple(ChartMark(place + 1, "spike") for place, value in enumerate(values) if value == 1e12)
    return Curves(raw, mean, marks=marks, cursor=float(len(values) // 2))


def reduced(steps: "array[int]", values: list[float | None], room: int, count: int) -> Columns:
    series = Series()
    for value in values:
        series.append(value)
    return Reducer().reduce(steps, series, 1, 1 + room, count)


@pytest.mark.parametrize("glyphs", GLYPH_NAMES)
def test_a_new_step_looks_at_two_columns_at_most(glyphs: GlyphName) -> None:
    live, limits = LiveChart(), Limits(-4.0, 4.0)
    values: list[float | None] = [math.sin(place / 9) for place in range(900)]
    lines = live.draw(over(values, 1200, glyphs), WIDTH, HEIGHT, limits, glyphs)
    looked: list[int] = []
    kept = 0
    for place in range(900, 960):
        values.append(math.sin(place / 9))
        before, lines = lines, live.draw(over(values, 1200, glyphs), WIDTH, HEIGHT, limits, glyphs)
        looked.append(live.columns_drawn)
        kept += sum(one is other for one, other in zip(before, lines, strict=True))
    at_the_end = (WIDTH - 7) * (1200 - 900) // 1200 + 2
    assert max(looked) <= at_the_end, "what lies left of the newest values is never looked at"
    assert kept >= 60 * (HEIGHT - 4), "rows without a change are the same objects"


def test_each_kind_of_mark_has_a_sign_of_its_own_in_every_look() -> None:
    for look in (0, 1):
        signs = [pair[look] for pair in (*MARKS.values(), OTHER_MARK)]
        assert len(set(signs)) == len(signs)
    assert all(ascii_sign.isascii() for _, ascii_sign in MARKS.values())


@pytest.mark.parametrize("kind", MARKS)
def test_marks_stand_in_the_top_row_at_their_steps(kind: str) -> None:
    shown = replace(curves([1.0] * 100), marks=(ChartMark(20, kind, "warning", f"{kind} 20"),))
    place = 19 * (WIDTH - 7) // 100
    for glyphs, sign in zip(("braille", "ascii"), MARKS[kind], strict=True):
        rows = drawn(replace(curves([1.0] * 100, glyphs=glyphs), marks=shown.marks), glyphs=glyphs)
        assert rows[0][place] == sign
        assert f"{kind} 20" in rows[0]


def test_of_marks_in_one_cell_the_gravest_is_seen() -> None:
    marks = (ChartMark(20, "nan", "critical"), ChartMark(20, "checkpoint"), ChartMark(20, "spike", "warning"))
    rows = drawn(replace(curves([1.0] * 100), marks=marks))
    assert rows[0][19 * (WIDTH - 7) // 100] == MARKS["nan"][0]


def test_the_best_evaluation_has_a_sign_of_its_own_on_the_curve() -> None:
    points = ((30, 1.5), (60, 1.2))
    marks = (ChartMark(30, "eval"), ChartMark(60, "eval"), ChartMark(60, "best"))
    rows = drawn(curves([1.0] * 50 + [2.0] * 50, points=points, marks=marks))
    text = "".join(rows)
    assert text.count(POINT) == 1
    assert text.count(MARKS["best"][0]) == 1
    assert POINT not in rows[0], "an evaluation that is a point on the curve is no mark above it too"


def test_an_average_outside_the_limits_is_no_line_along_the_border() -> None:
    usual = [0.5 + place % 5 / 100 for place in range(200)]
    raw = curves([*usual[:100], 12.0, *usual[101:]])
    smooth = curves([*usual[:100], *[0.9] * 60, *usual[160:]]).raw
    limits = limits_of(Curves(raw.raw, smooth), False, None)
    assert limits is not None
    assert limits.high < 0.9
    rows = drawn(Curves(raw.raw, smooth), limits)
    above = rows[0][100 * 53 // 200 : 160 * 53 // 200]
    assert set(above) <= {CLIPPED, " "}, "signs that it is above, and nothing that looks like a value"
    assert above.count(CLIPPED) > 10


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("average", [0.62, 0.36])
def test_an_average_beside_the_values_is_inside_the_limits(average: float, log: bool) -> None:
    raw = curves([0.45 + place % 10 / 100 for place in range(200)])
    limits = limits_of(Curves(raw.raw, curves([average] * 200).raw), log, None)
    assert limits is not None
    assert limits.low <= average <= limits.high


def test_of_a_few_steps_the_average_is_always_seen() -> None:
    raw, smooth = curves([1.70, 1.71, 1.70]), curves([1.95, 1.94, 1.93])
    limits = limits_of(Curves(raw.raw, smooth.raw), False, None)
    assert limits is not None
    assert limits.high >= 1.95


def test_the_mark_at_the_very_step_of_the_cursor_is_named_before_its_neighbours() -> None:
    marks = tuple(ChartMark(place, "spike", "warning", f"spike {place}") for place in (5000, 5001, 5002))
    for place in (5000, 5001, 5002):
        assert f"spike {place}" in drawn(curves([1.0] * 10000, marks=marks, cursor=place))[0]


def test_an_evaluation_below_the_raw_values_is_inside_a_log_axis() -> None:
    data = curves([1.0, 2.0, 3.0] * 10, points=((10, 0.2),))
    limits = limits_of(data, True, None)
    assert limits is not None
    assert limits.low <= 0.2


def test_points_outside_the_limits_say_on_which_side() -> None:
    rows = drawn(curves([1.0, 2.0] * 20, points=((10, 9.0), (30, -9.0))), Limits(0.0, 3.0))
    assert rows[0][int(9 / 40 * 53)] == CLIPPED
    assert rows[-1][int(29 / 40 * 53)] == BELOW


def test_the_reference_line_lies_behind_the_curve() -> None:
    data = curves([1.0, 5.0] * 50, reference=3.0)
    rows = drawn(data)
    assert any("╌" in row for row in drawn(curves([1.0, 1.2] * 50 + [5.0] * 4, reference=3.0)))
    assert {row.replace("╌", " ") for row in rows} == set(drawn(replace(data, reference=None)))
    assert "╌" not in "".join(drawn(replace(data, reference=50.0))), "outside the limits it is not drawn"


@pytest.mark.parametrize("glyphs", GLYPH_NAMES)
def test_the_cursor_is_seen_without_colours(glyphs: GlyphName) -> None:
    data = curves([float(place) for place in range(100)], glyphs=glyphs, cursor=50.0)
    lines = LiveChart().draw(data, WIDTH, HEIGHT, limits_of(data, False, None), glyphs)
    column = 49 * 53 // 100
    rows = canvas(lines)
    assert sum(row[column] in "│|" for row in rows) >= HEIGHT - 4
    assert "cursor" in {role for row in lines for _, role in row}, "where it meets the curve it is reversed"
    assert {line_width(row) for row in lines} == {WIDTH}
    assert rows != drawn(replace(data, cursor=None), glyphs=glyphs)


def test_what_is_not_a_number_stays_before_all_other_signs() -> None:
    data = curves([1.0] * 50 + [math.nan] + [1.0] * 49, marks=(ChartMark(51, "checkpoint"),))
    assert NOT_FINITE in drawn(data)[0]


def test_everything_in_ascii_is_ascii() -> None:
    marks = tuple(ChartMark(5 + 6 * place, kind, "warning", kind) for place, kind in enumerate((*MARKS, "other")))
    data = curves([1.0, 5.0, math.nan, 2.0] * 30, glyphs="ascii", marks=marks, cursor=9, reference=3, points=((3, 2),))
    lines = LiveChart().draw(data, WIDTH, HEIGHT, limits_of(data, False, None), "ascii")
    text = "".join(text_of(to_ascii(row)) for row in lines)
    assert text.isascii()
    assert "?" not in text, "every sign has one in ASCII"
