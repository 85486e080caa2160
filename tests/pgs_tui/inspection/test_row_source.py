"""Which rows the list shows, and what has to be fetched for that."""

import pytest

from pgs_tui.inspection.row_source import WINDOW, RowFilter, RowSource
from pgs_tui.inspection.shapes import RowSummary, RowsWindow


def summary(row: int, tokens: int | None = 9) -> RowSummary:
    return RowSummary(row, "rows.jsonl", row + 1, tokens, 3)


def window(rows: list[int], matched: int, total: int = 1000, tokens: int | None = 9) -> RowsWindow:
    return RowsWindow(total, matched, total, tuple(summary(row, tokens) for row in rows))


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("", RowFilter()),
        ("flag:truncated", RowFilter(flag="TRUNCATED")),
        ("role:Tool", RowFilter(role="tool")),
        ("flagged", RowFilter(flagged=True)),
        ("Peru flag:TRUNCATED Lima", RowFilter(text="Peru Lima", flag="TRUNCATED")),
        ("see: this", RowFilter(text="see: this")),
        ("flag: x", RowFilter(text="flag: x")),
    ],
)
def test_a_filter_is_read_as_people_write_it(written: str, wanted: RowFilter) -> None:
    assert RowFilter.read(written) == wanted
    assert RowFilter.read(wanted.written) == wanted


def test_only_what_is_missing_is_asked_for() -> None:
    source = RowSource()
    assert source.wanted(0, 30) == {"start": 0, "count": WINDOW}
    source.take(window(list(range(WINDOW)), 1000), 0)
    assert source.wanted(0, 30) is None
    assert source.wanted(WINDOW - 10, 30) == {"start": WINDOW * 3 // 4, "count": WINDOW}
    assert source.wanted(0, 30, again=True) is not None


def test_rows_that_the_audit_had_not_measured_are_fetched_anew_after_it() -> None:
    source = RowSource()
    source.take(window(list(range(WINDOW)), 1000), 0)
    source.take(window(list(range(WINDOW, 2 * WINDOW)), 1000, tokens=None), WINDOW)
    source.forget_unmeasured(seen=range(WINDOW, WINDOW + 20))
    assert source.wanted(0, 30) is None
    assert source.row(WINDOW + 10) is not None, "what is in sight does not vanish meanwhile"
    assert source.wanted(WINDOW + 30, 10) is not None


def test_a_search_that_goes_on_is_not_complete() -> None:
    source = RowSource(RowFilter(text="x"))
    assert not source.complete
    source.take(RowsWindow(1000, 1, 500, (summary(3),)), 0)
    assert not source.complete
    source.take(window([3], 1), 0)
    assert source.complete


def test_the_rows_of_an_alert_are_shown_in_its_order() -> None:
    source = RowSource(ids=(88, 3))
    assert source.matched == 2
    assert source.wanted(0, 10) == {"start": 88, "count": 1}
    source.take(window([88], 1000), 88)
    assert source.wanted(0, 10) == {"start": 3, "count": 1}
    source.take(window([3], 1000), 3)
    assert source.wanted(0, 10) is None
    assert [source.row(place).row for place in (0, 1)] == [88, 3]  # type: ignore[union-attr]
    assert source.place_of(3) == 1
