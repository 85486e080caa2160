"""Text from data on a terminal: nothing is executed, nothing stays invisible, and every width is right."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from wcwidth import wcswidth

from pgs_tui.visible import Piece, isolated, pieces, shown
from tests.pgs_tui.making import BRACKETS

ISOLATES = "\u2068\u2069"


def drawn(text: str, ascii_only: bool = False) -> list[Piece]:
    return list(pieces(text, 0, len(text), ascii_only))


@pytest.mark.parametrize("text", BRACKETS)
def test_brackets_are_shown_letter_by_letter(text: str) -> None:
    assert shown(text) == text


def test_every_invisible_character_has_a_sign_of_its_own() -> None:
    signs = [piece.text for piece in drawn("a\u200bb\ufeffc\u00add\u00a0e\n\n f") if piece.sign]
    assert signs == ["‹U+200B›", "‹U+FEFF›", "‹U+00AD›", "‹U+00A0›", "⏎", "⏎"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "‹ESC›[31mred‹ESC›[0m"),
        ("\x00\x07\x7f\x85", "‹NUL›‹BEL›‹DEL›‹U+0085›"),
        ("a\tb\r\n", "a→   b‹CR›⏎"),
        ("x\u202ey\u2066z", "x‹U+202E›y‹U+2066›z"),
        ("\u2028\u2029\u3164\ue000", "‹U+2028›‹U+2029›‹U+3164›‹U+E000›"),
        ("👍🏽", "👍‹U+1F3FD›"),
        ("👩\u200d👧", "👩‹U+200D›👧"),
        ("🇵🇪", "‹U+1F1F5›‹U+1F1EA›"),
        ("❤\ufe0f", "❤‹U+FE0F›"),
        ("e\u0301", "e\u0301"),
        ("\u0301e", "◌\u0301e"),
        ("naïve “quotes” – 漢字", "naïve “quotes” – 漢字"),
    ],
)
def test_signs(text: str, seen: str) -> None:
    assert shown(text) == seen


def test_a_pile_of_marks_does_not_grow_over_its_neighbours() -> None:
    seen = [piece.text for piece in drawn("e" + "\u0301" * 4)]
    assert seen == ["e\u0301\u0301", "◌\u0301", "◌\u0301"]


def test_without_utf8_everything_has_an_ascii_form() -> None:
    assert shown("é漢\u200b\x1b\n", ascii_only=True) == "<U+00E9><U+6F22><U+200B><ESC>$"


def test_text_from_right_to_left_cannot_move_what_stands_beside_it() -> None:
    assert isolated("a שלום עולם, 12 b") == "a \u2068שלום עולם\u2069, 12 b"
    assert isolated("plain") == "plain"


@given(st.text(max_size=60))
@example("ae\u0301\u0301\u0301\u0301x")
@example("हिन्दी")
@example("가\u1161각")
def test_pieces_cover_the_text_in_order_and_know_their_width(text: str) -> None:
    found = drawn(text)
    assert [piece.start for piece in found] == [0, *[piece.stop for piece in found]][: len(found)]
    assert not found or found[-1].stop == len(text)
    for piece in found:
        assert piece.sign or piece.text == text[piece.start : piece.stop]
        assert piece.cells == cell_len(piece.text) > 0
    line = isolated("".join(piece.text for piece in found))
    assert cell_len(line) == sum(piece.cells for piece in found)
    if not any(unicodedata.category(character) == "Mc" for character in text):
        assert wcswidth(line) == cell_len(line)


@given(st.text(max_size=60))
def test_no_character_that_steers_a_terminal_is_ever_drawn(text: str) -> None:
    for character in shown(text):
        assert character in ISOLATES or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    assert shown(text, ascii_only=True).isascii()
    assert shown(text, ascii_only=True).isprintable()


def test_plain_pieces_can_be_cut_anywhere() -> None:
    (word,) = drawn("word")
    assert word.is_plain
    assert word.cut(1, 3) == Piece("or", 1, 3, 2)
    assert not drawn("\u200b")[0].is_plain
    assert not drawn("漢")[0].is_plain
