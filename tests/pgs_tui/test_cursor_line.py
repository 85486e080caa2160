"""What was measured at a step, in one line or two."""

from __future__ import annotations

from pgs_tui.drawing.lines import line_width, text_of
from pgs_tui.widgets.cursor_line import CursorLine, CursorReading, Measured

READING = CursorReading(
    parts=(
        Measured("step", "1 102"),
        Measured("loss", "9.410", "1.700 ± 0.080", warns=True),
        Measured("grad norm", "8.31", "0.294 ± 0.020", warns=True),
        Measured("dt", "1.20 s", "1.20 s ± 10 ms"),
        Measured("tok/s", "6 180", "6 175 ± 20"),
        Measured("lr", "1.0e-05"),
        Measured("rows", "8812, 8813"),
    ),
    leads_to="its tokens",
)


def shown(width: int, height: int, reading: CursorReading = READING) -> list[str]:
    drawn = CursorLine(id="cursor")
    drawn._reading = reading
    rows = drawn.draw(width, height)
    assert len(rows) <= height and all(line_width(row) <= max(width, 12) for row in rows)
    return [text_of(row) for row in rows]


def test_a_wide_terminal_shows_every_value_with_what_is_usual() -> None:
    (row,) = shown(200, 1)
    for part in READING.parts:
        assert f"{part.name} {part.text}" in row
        assert part.usual in row
    assert row.endswith("Enter its tokens")


def test_two_lines_hold_all_values_of_a_terminal_of_80_columns() -> None:
    text = " ".join(shown(80, 2))
    assert "1.700 ± 0.080" in text, "and what is usual, of the first ones"
    assert all(part.text in text for part in READING.parts)
    assert "Enter its tokens" in text


def test_in_the_narrowest_the_step_stays() -> None:
    for width in (1, 10, 20, 40, 60):
        rows = shown(width, 1)
        assert "1 102" in rows[0]


def test_a_step_that_leads_nowhere_offers_no_key() -> None:
    assert "Enter" not in shown(200, 1, CursorReading(READING.parts))[0]
    assert shown(80, 2, CursorReading()) == []
