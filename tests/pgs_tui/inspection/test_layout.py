"""Rows of a text: nothing is lost, nothing is wider than the room, and only what is looked at is worked out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pgs_tui.inspection.blocks import Block, Title
from pgs_tui.inspection.layout import CHUNK, Layout, Place, Row
from pgs_tui.inspection.lines_of_text import text_rows

WORDS = st.text(alphabet="ab \n\té漢\u200b😀\u0301", max_size=200)


def layout(text: str, cells: int = 20, *blocks: Block) -> Layout:
    return Layout(
        text, blocks or (Block(0, len(text)),), lambda start, stop: text_rows(text, start, stop, cells, False)
    )


def words(row: Row) -> str:
    return "".join(piece.text for piece in row.pieces)


@given(WORDS, st.integers(min_value=2, max_value=30))
def test_the_rows_hold_the_whole_text_and_fit(text: str, cells: int) -> None:
    rows = text_rows(text, 0, len(text), cells, False)
    edges = [(piece.start, piece.stop) for row in rows for piece in row.pieces]
    assert [start for start, _ in edges] == [0, *[stop for _, stop in edges]][: len(edges)]
    assert not edges or edges[-1][1] == len(text)
    for row in rows:
        assert sum(piece.cells for piece in row.pieces) <= cells or len(row.pieces) == 1


def test_lines_break_between_words_and_newlines_never_stand_alone() -> None:
    rows = text_rows("one two three four\nfive", 0, 23, 10, False)
    assert [words(row) for row in rows] == ["one two ", "three ", "four⏎", "five"]
    assert [words(row) for row in text_rows("x" * 9 + "\n", 0, 10, 10, False)] == ["x" * 9 + "⏎"]


def test_a_word_that_is_too_long_goes_on_in_the_next_line() -> None:
    assert [words(row) for row in text_rows("a " + "x" * 25, 0, 27, 11, False)] == ["a " + "x" * 8, "x" * 10, "x" * 7]


def test_walking_down_passes_every_row_once_and_back_again() -> None:
    text = "word " * 3000
    rows = layout(text, 40)
    place, seen = rows.first, [rows.first]
    while (below := rows.walk(place, 1)) != place:
        place = below
        seen.append(place)
    assert place == rows.last
    assert seen == sorted(seen)
    assert "".join(words(rows.row(one)) for one in seen) == text
    assert rows.walk(rows.last, -len(seen)) == rows.first
    assert rows.walk(rows.first, len(seen) + 5) == rows.last
    assert rows.distance(rows.first, rows.last, 10**6) == len(seen) - 1


def test_a_place_in_the_text_is_found_wherever_it_is() -> None:
    text = "word " * 40000
    rows = layout(text, 80)
    for position in (0, 12345, 199_999):
        row = rows.row(rows.locate(position))
        assert row.start <= position < row.stop


def test_a_jump_to_the_end_of_a_long_text_works_out_only_the_end() -> None:
    text = "word " * 40000
    asked = []

    def rows_of(start: int, stop: int) -> list[Row]:
        asked.append((start, stop))
        return text_rows(text, start, stop, 80, False)

    rows = Layout(text, (Block(0, len(text)),), rows_of)
    rows.walk(rows.last, -30)
    rows.locate(len(text) - 1)
    assert sum(stop - start for start, stop in asked) <= 3 * CHUNK


def test_rows_that_cannot_be_made_yet_are_asked_for_again() -> None:
    answers = iter([None, None, [Row("text", 0, 3)]])
    rows = Layout("abc", (Block(0, 3, Title("user", 1)),), lambda start, stop: next(answers))
    assert [row.kind for row in rows.rows(0)] == ["title", "waiting"]
    assert [row.kind for row in rows.rows(0)] == ["title", "waiting"]
    assert [row.kind for row in rows.rows(0)] == ["title", "text"]
    assert [row.kind for row in rows.rows(0)] == ["title", "text"], "and then they are kept"


def test_what_no_block_shows_is_jumped_over() -> None:
    text = "headBODYtailMORE"
    rows = layout(text, 20, Block(4, 8, Title("user", 1)), Block(8, 8, Title("assistant", 2)), Block(12, 16))
    assert [rows.shown(place) for place in (0, 5, 8, 10, 15, 99)] == [4, 5, 12, 12, 15, 15]
    assert [rows.shown(place, back=True) for place in (0, 5, 10, 13)] == [4, 5, 7, 13]
    assert rows.row(rows.first).title == Title("user", 1)


@settings(max_examples=30)
@given(st.lists(st.integers(-40, 40), max_size=20))
def test_walks_never_leave_the_text(steps: list[int]) -> None:
    rows = layout("some words\n" * 300, 15)
    place = rows.first
    for step in steps:
        place = rows.walk(place, step)
        assert rows.first <= place <= rows.last


def test_an_empty_text_has_one_empty_row() -> None:
    rows = layout("")
    assert rows.first == rows.last == Place(0, 0)
    assert rows.row(rows.first).pieces == ()
