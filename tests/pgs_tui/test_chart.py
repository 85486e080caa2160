import math
from array import array

import pytest

from pgs_tui.appearance.look import GLYPH_NAMES, GlyphName
from pgs_tui.drawing.axes import Limits
from pgs_tui.drawing.chart import BELOW, CLIPPED, NOT_FINITE, POINT, Curves, Flag, dot_columns, limits_of, render
from pgs_tui.drawing.lines import Line, line_width, text_of, to_ascii
from pgs_tui.history.series import Reducer, Series

WIDTH, HEIGHT = 60, 12


def curves(values: list[float | None], width=WIDTH, height=HEIGHT, glyphs: GlyphName = "braille", **more) -> Curves:
    series = Series()
    for value in values:
        series.append(value)
    steps = array("q", range(1, len(values) + 1))
    columns = Reducer().reduce(steps, series, 1, len(values) + 1, dot_columns(width, height, glyphs))
    return Curves(columns, **more)


def drawn(
    values: list[float | None], width=WIDTH, height=HEIGHT, glyphs: GlyphName = "braille", log=False, **more
) -> tuple[Line, ...]:
    data = curves(values, width, height, glyphs, **more)
    return render(data, width, height, limits_of(data, log, None), glyphs)


def canvas(lines: tuple[Line, ...]) -> list[str]:
    """The rows of the curve itself, without labels."""
    return [text_of(row)[7:] for row in lines[:-1]]


@pytest.mark.parametrize("glyphs", GLYPH_NAMES)
@pytest.mark.parametrize("size", [(1, 1), (2, 60), (23, 3), (24, 4), (200, 2), (400, 120), (40, 9)])
def test_every_size_is_filled_exactly(size: tuple[int, int], glyphs: GlyphName) -> None:
    width, height = size
    lines = drawn([1.0, 5.0, math.nan, 2.0] * 30, width, height, glyphs)
    assert len(lines) == height
    assert {line_width(row) for row in lines} == {width}


@pytest.mark.parametrize("size", [(0, 0), (0, 5), (5, 0), (-3, 7)])
def test_no_room_means_no_lines(size: tuple[int, int]) -> None:
    assert render(curves([1.0], 0, 0), *size, Limits(0, 1), "braille") == ()


def test_a_falling_curve_falls() -> None:
    rows = canvas(drawn([float(10 - number / 10) for number in range(100)]))
    left = next(place for place, row in enumerate(rows) if row[0] != " ")
    right = next(place for place, row in enumerate(rows) if row[-1] != " ")
    assert left <= 1
    assert right >= len(rows) - 2


def test_one_step_among_a_million_is_seen() -> None:
    values: list[float | None] = [1.0 + number % 7 / 100 for number in range(200_000)]
    values[123_456] = 9.0
    rows = canvas(drawn(values))
    column = 123_456 * (WIDTH - 7) // 200_000
    assert rows[0][column] == CLIPPED
    assert sum(row[column] != " " for row in rows) >= len(rows) - 2, "a line from the usual values to the top"


def test_a_spike_among_few_points_needs_no_clipping() -> None:
    assert CLIPPED not in "".join(canvas(drawn([1.0, 1.1, 9.0, 1.0, 1.1])))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_a_mark_at_its_step(bad: float) -> None:
    rows = canvas(drawn([*[2.0] * 40, bad, *[2.0] * 59]))
    assert [place for place, cell in enumerate(rows[0]) if cell == NOT_FINITE] == [40 * (WIDTH - 7) // 100]


def test_the_line_breaks_where_the_values_did() -> None:
    rows = canvas(drawn([1.0, 2.0, math.nan, 2.0, 1.0]))
    column = rows[0].index(NOT_FINITE)
    assert all(row[column] == " " for row in rows[1:])


def test_nothing_but_nan_shows_marks_only() -> None:
    lines = drawn([math.nan] * 10)
    text = "".join(text_of(row) for row in lines)
    assert set(text) == {" ", NOT_FINITE}
    assert len(lines) == HEIGHT


def test_equal_values_are_a_line_in_the_middle() -> None:
    rows = canvas(drawn([2.0] * 100))
    filled = [place for place, row in enumerate(rows) if row.strip()]
    assert len(filled) == 1
    assert 0 < filled[0] < len(rows) - 1


def test_one_point_is_seen() -> None:
    assert sum(bool(row.strip()) for row in canvas(drawn([3.0]))) == 1


def test_negative_values_have_negative_labels() -> None:
    labels = [text_of(row)[:7].strip() for row in drawn([-3.0, -1.0, -2.0])]
    assert "-3.0" in labels or "-3" in labels


def test_a_log_axis_leaves_out_what_has_no_logarithm_and_says_so() -> None:
    lines = drawn([*[0.001] * 20, *[0.0] * 20, *[-1.0] * 20, *[100.0] * 20], log=True)
    rows = canvas(lines)
    assert rows[-1].count(BELOW) >= 20
    labels = [text_of(row)[:7].strip() for row in lines]
    assert "100" in labels[0]
    assert {"1e-03", "0.001"} & set(labels)


@pytest.mark.parametrize("values", [[0.0], [-1.0, -2.0], [math.nan], [0.0, math.inf]])
def test_a_log_axis_survives_values_without_any_logarithm(values: list[float]) -> None:
    assert len(drawn(list(values), log=True)) == HEIGHT


def test_the_smoothed_line_lies_over_the_raw_one() -> None:
    raw = curves([1.0, 3.0] * 50)
    smooth = curves([2.0] * 100).raw
    both = Curves(raw.raw, smooth)
    lines = render(both, WIDTH, HEIGHT, limits_of(both, False, None), "braille")
    roles = {role for row in lines for text, role in row if text.strip()}
    assert {"raw", "accent"} <= roles
    assert "raw" not in {role for row in drawn([1.0, 3.0] * 50) for _, role in row}, "alone, the raw line is the line"


def test_points_and_flags_stand_at_their_steps() -> None:
    lines = drawn([1.0] * 50 + [2.0] * 50, points=((75, 1.5),), flags=(Flag(20, "spike 20"),))
    rows = canvas(lines)
    width = WIDTH - 7
    assert any(row[74 * width // 100] == POINT for row in rows)
    assert rows[0][19 * width // 100] == CLIPPED
    assert "spike 20" in rows[0]


def test_a_label_never_covers_a_mark() -> None:
    values: list[float | None] = [2.0] * 100
    values[25] = math.nan
    rows = canvas(drawn(values, flags=(Flag(20, "a rather long label 20"),)))
    assert NOT_FINITE in rows[0]


def test_points_outside_the_view_are_left_out() -> None:
    drawn([1.0, 2.0], points=((-5, 1.0), (10**12, 1.0), (1, math.nan)), flags=(Flag(10**9, "x"),))


def test_ascii_is_ascii() -> None:
    lines = drawn([1.0, 5.0, math.nan, 2.0] * 30, glyphs="ascii", points=((5, 2.0),), flags=(Flag(9, "x"),))
    assert all(text_of(to_ascii(row)).isascii() for row in lines)


def test_limits_stay_while_they_fit() -> None:
    first = limits_of(curves([1.0, 5.0]), False, None)
    assert limits_of(curves([1.2, 4.7]), False, first) == first
    assert limits_of(curves([1.0, 9.0]), False, first) != first
    assert limits_of(curves([1.0, 1.2]), False, first) != first, "limits much too wide are given up"


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-9, 1e-3, 1.0, 1e6, 1e15, 1e300])
@pytest.mark.parametrize("log", [False, True])
def test_every_magnitude_can_be_drawn(size: float, log: bool) -> None:
    lines = drawn([size, size * 1.5, size * 3], log=log)
    assert {line_width(row) for row in lines} == {WIDTH}
    assert any(row.strip() for row in canvas(lines))


def test_plotext_never_sees_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    import plotext

    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("points were given to plotext")

    monkeypatch.setattr(plotext.figure, "signal", refuse)
    drawn([float(number % 977) for number in range(3000)])


def test_a_still_axis_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import plotext

    builds: list[int] = []
    build = plotext.figure.build
    monkeypatch.setattr(plotext.figure, "build", lambda: builds.append(1) or build())
    for number in range(20):
        data = curves([1.0, 5.0, 2.0 + number / 100])
        render(data, 61, 13, Limits(0.5, 6.25), "braille")
    assert len(builds) == 1
