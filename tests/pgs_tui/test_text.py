import math

import pytest

from pgs_tui import format as formats
from pgs_tui.drawing.lines import changed_runs, fit, line, line_width, spread, text_of, to_ascii, wrapped
from pgs_tui.format import plain
from pgs_tui.widgets.bars import Part, bar, progress_bar, stacked_bar
from tests.pgs_tui.making import BRACKETS


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.6723, "1.672"),
        (12.043, "12.04"),
        (6180.4, "6 180"),
        (0.2906, "0.291"),
        (0.02123, "0.0212"),
        (0.0, "0.000"),
        (2.1e-5, "2.1e-05"),
        (1234567.0, "1.2e+06"),
        (-1.5, "-1.500"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (None, "–"),
    ],
)
def test_values(number: float | None, text: str) -> None:
    assert formats.value(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.204, "1.20 s"), (12.34, "12.3 s"), (0.0431, "43 ms"), (0.0042, "4.2 ms"), (None, "–"), (math.nan, "NaN")],
)
def test_seconds(number: float | None, text: str) -> None:
    assert formats.seconds(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.4, "0 s"),
        (59.0, "59 s"),
        (185.0, "3 m 05 s"),
        (6720.0, "1 h 52 m"),
        (190_000.0, "2 d 4 h"),
        (None, "–"),
        (math.inf, "–"),
    ],
)
def test_durations(number: float | None, text: str) -> None:
    assert formats.duration(number) == text


def test_rows_are_named_and_counted() -> None:
    assert formats.rows((8812, 8813)) == "8812, 8813"
    assert formats.rows((1, 2, 3, 4, 5)) == "1, 2, 3, 2 more"


@pytest.mark.parametrize("text", BRACKETS)
def test_brackets_are_left_alone(text: str) -> None:
    assert plain(text) == text


def test_foreign_text_cannot_steer_the_terminal() -> None:
    assert plain("\x1b[33mquota ok\x1b[0m") == "quota ok"
    assert plain("\x1b]0;title\x07text\x1b]52;c;eA==\x1b\\end") == "textend"
    assert plain("a\x07b\rc\x00d\x7f") == "a␇b␍c␀d␡"
    assert plain("a\tb\nc") == "a    b␊c"
    assert plain("a\u202eb\u2066c") == "a\ufffdb\ufffdc"
    assert plain("\x9b31mred") == "\ufffd31mred"
    assert plain("café 漢") == "café 漢"
    assert "\x1b" not in plain("\x1b\x1b[")


def test_lines_are_fitted_by_cells_not_by_letters() -> None:
    assert text_of(fit(line(("漢字漢字", "text")), 5)) == "漢字…"
    assert line_width(fit(line(("漢字漢字", "text")), 4)) == 4
    assert text_of(fit(line(("ab", "text")), 5)) == "ab   "
    assert fit(line(("ab", "text")), 0) == ()


def test_what_does_not_fit_is_cut_on_the_left_side() -> None:
    assert text_of(spread(line(("a long name", "text")), line(("right", "text")), 12)) == "a long…right"


def test_only_changed_cells_are_told() -> None:
    old, new = line(("step ", "dim"), ("12", "value")), line(("step ", "dim"), ("13", "value"))
    assert changed_runs(old, new) == [(6, 7)]
    assert changed_runs(old, old) == []
    assert changed_runs(line(("12", "dim")), line(("12", "value"))) == [(0, 2)]
    assert changed_runs((), line(("ab", "text"))) == [(0, 2)]
    assert changed_runs(line(("漢a", "text")), line(("漢b", "text"))) == [(2, 3)]
    assert changed_runs(line(("e\u0301a", "text")), line(("e\u0301b", "text"))) == [(1, 2)], "a mark has no cell"
    assert changed_runs(line(("a" * 30, "text")), line(("b" + "a" * 28 + "b", "text"))) == [(0, 1), (29, 30)]
    assert changed_runs(line(("a" * 9, "text")), line(("b" + "a" * 7 + "b", "text"))) == [(0, 9)], "near ones are one"
    assert changed_runs(line(("ab", "text")), line(("abc", "text"))) == [(0, 3)]


def test_ascii_keeps_the_width() -> None:
    drawn = line(("╭─ loss ▲ × ◆ █▉░ ≈ ± 漢 é …╮", "text"))
    ascii_line = to_ascii(drawn)
    assert text_of(ascii_line).isascii()
    assert line_width(ascii_line) == line_width(drawn)


def test_words_are_wrapped() -> None:
    rows = wrapped("the loss of this batch lies far above", 12)
    assert [text_of(row).rstrip() for row in rows] == ["the loss of", "this batch", "lies far", "above"]
    assert wrapped("x", 0) == []
    assert [text_of(row).strip() for row in wrapped("see /a/long/path here", 8)] == ["see", "/a/long/", "path", "here"]
    assert {line_width(row) for row in wrapped("averyveryverylongword x", 5)} == {5}


@pytest.mark.parametrize("share", [None, -1.0, 0.0, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("width", [0, 1, 17])
def test_a_progress_bar_has_its_width(share: float | None, width: int) -> None:
    assert line_width(progress_bar(share, width)) == width


def test_a_stacked_bar_shows_every_part_and_fills_its_width() -> None:
    parts = (Part("weights", 8.0, "accent"), Part("tiny", 0.001, "good"), Part("none", 0.0, "raw"))
    drawn = stacked_bar(parts, 40.0, 50)
    assert line_width(drawn) == 50
    assert [role for _, role in drawn] == ["accent", "good", "frame"]
    assert line_width(stacked_bar(parts, 4.0, 50)) == 50, "parts larger than the whole"
    assert line_width(stacked_bar(parts, 0.0, 50)) == 50


def test_a_bar_shows_the_smallest_amount() -> None:
    assert bar(0.0001, 10) == "▏"
    assert bar(0.5, 10) == "█████"
    assert bar(0.0, 10) == ""


def test_one_of_something_has_no_plural_and_what_is_not_known_no_unit() -> None:
    from pgs_tui.format import counted, percent
    from pgs_tui.listing.words import counted as counted_alerts
    from screens.dashboard.readings.wording import WORDINGS

    assert (counted(1, "run"), counted(1240, "run"), counted(0, "row")) == ("1 run", "1 240 runs", "0 rows")
    assert (counted_alerts(1, "warning"), counted_alerts(2, "warning")) == ("1 warning", "2 warnings")
    assert counted_alerts(2, "critical") == "2 critical"
    assert percent(None) == percent(float("nan")) == "–"
    assert {wording.words(None) for wording in WORDINGS.values()} == {"–"}, "a skipped step moved – and not – %"


def test_numbers_are_not_torn_at_their_thousands() -> None:
    told = [text_of(row).rstrip() for row in wrapped("at work · 86 776 tokens, step  12 100 of 4 205 751 296 ", 14)]
    assert told == ["at work ·", "86 776 tokens,", "step 12 100 of", "4 205 751 296"]
