"""Several curves in one chart: each is told from the others without a colour, and none hides the main one."""

import math
from array import array
from dataclasses import replace

import pytest

from pgs_tui.appearance.look import GLYPH_NAMES, GlyphName
from pgs_tui.drawing.chart import Curves, LiveChart, dot_columns, limits_of
from pgs_tui.drawing.curves import Other
from pgs_tui.drawing.lines import Line, line_width, text_of
from pgs_tui.history.series import Columns, Reducer, Series

WIDTH, HEIGHT, STEPS = 100, 16, 400


def columns(values: list[float], glyphs: GlyphName = "braille") -> Columns:
    series = Series()
    for value in values:
        series.append(value)
    positions = array("q", range(1, len(values) + 1))
    return Reducer().reduce(positions, series, 1, STEPS + 1, dot_columns(WIDTH, HEIGHT, glyphs))


def falling(by: float, steps: int = STEPS) -> list[float]:
    return [by + 3 * math.exp(-step / 100) for step in range(steps)]


def drawn(curves: Curves, glyphs: GlyphName = "braille") -> tuple[Line, ...]:
    return LiveChart().draw(curves, WIDTH, HEIGHT, limits_of(curves, False, None), glyphs)


def roles(lines: tuple[Line, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in lines[:-1]:
        for text, role in line:
            found[role] = found.get(role, 0) + len(text.strip())
    return found


NOTHING = columns([])


@pytest.mark.parametrize("glyphs", GLYPH_NAMES)
def test_six_runs_are_told_apart_without_a_colour(glyphs: GlyphName) -> None:
    others = tuple(
        Other(columns(falling(number / 2), glyphs), f"series-{number + 1}", f"run {number}", str(number + 1))  # type: ignore[arg-type]
        for number in range(6)
    )
    lines = drawn(Curves(columns([], glyphs), others=others), glyphs)
    rows = [text_of(line)[7:] for line in lines[:-1]]
    assert {line_width(line) for line in lines} == {WIDTH}
    for number in range(1, 7):
        heights = [place for place, row in enumerate(rows) for sign in row if sign == str(number)]
        assert len(heights) >= 3, number
    ends = [next(place for place, row in enumerate(rows) if str(number) in row[-14:]) for number in range(1, 7)]
    assert ends == sorted(ends, reverse=True), "the higher a run's loss is, the higher stands its sign"


def test_a_run_that_ended_earlier_has_its_sign_where_it_ended() -> None:
    short = Other(columns(falling(0.5, steps=100)), "series-1", "short", "1")
    lines = drawn(Curves(NOTHING, others=(Other(columns(falling(0)), "series-2", "long", "2"), short)))
    places = [text_of(line).rfind("1", 7) for line in lines[:-1]]
    assert (WIDTH - 7) / 4 - 13 < max(places) - 7 <= (WIDTH - 7) / 4


def test_the_main_curve_stands_over_the_others() -> None:
    values = falling(0)
    alone = roles(drawn(Curves(columns(values))))
    below = Curves(columns(values), others=(Other(columns(values), "series-8", "the same", ""),))
    assert roles(drawn(below)) == alone


def test_a_curve_far_away_does_not_flatten_the_main_one() -> None:
    values, far = falling(0), [1e6] * STEPS
    alone = Curves(columns(values))
    together = replace(alone, others=(Other(columns(far), "series-8", "far", "b"),))
    assert limits_of(together, False, None) == limits_of(alone, False, None)
    assert any("▲" in text and role == "series-8" for line in drawn(together) for text, role in line)


def test_a_curve_a_little_beyond_is_in_sight() -> None:
    values = falling(0)
    limits = limits_of(Curves(columns(values), others=(Other(columns(falling(1)), "dim", "", ""),)), False, None)
    assert limits is not None
    assert limits.high >= 4


def test_values_that_are_not_finite_are_marked_as_those_of_their_run() -> None:
    values = falling(0)
    values[200] = math.nan
    lines = drawn(Curves(NOTHING, others=(Other(columns(values), "series-3", "", "1"),)))
    assert ("×", "series-3") in lines[0]


@pytest.mark.parametrize("log", [False, True])
def test_without_any_value_there_are_no_limits(log: bool) -> None:
    assert limits_of(Curves(NOTHING, others=(Other(NOTHING, "dim"),)), log, None) is None


def test_what_grows_is_drawn_as_if_anew() -> None:
    chart = LiveChart()
    limits = limits_of(Curves(NOTHING, others=(Other(columns(falling(0)), "series-1", "", "1"),)), False, None)
    for steps in range(20, STEPS, 37):
        other = Other(columns(falling(0, steps)), "series-1", "", "1")
        fixed = Other(columns(falling(1)), "series-2", "", "2")
        curves = Curves(columns(falling(0.5, steps)), others=(fixed, other))
        grown = chart.draw(curves, WIDTH, HEIGHT, limits, "braille")
        assert grown == LiveChart().draw(curves, WIDTH, HEIGHT, limits, "braille")
