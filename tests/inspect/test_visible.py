"""Nothing of the data reaches a terminal as a command, and all of it can be seen."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.printing.paper import Ink, paper_for
from engine.printing.visible import Signs, width_of

HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


@given(st.text())
@pytest.mark.parametrize("is_plain", [False, True])
def test_no_character_without_a_shape_is_printed(is_plain: bool, text: str) -> None:
    shown = Signs(is_plain=is_plain).show_in_line(text)
    assert not [character for character in shown if unicodedata.category(character) in HIDDEN]
    assert len(shown) >= len(text)


@given(st.text())
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-8"])
def test_what_is_printed_can_be_encoded(encoding: str, text: str) -> None:
    Signs(encoding).show(text).encode(encoding)


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert Signs().show(text) == text


def test_a_newline_is_its_sign_and_a_new_line() -> None:
    assert Signs().show("a\nb") == "a⏎\nb"
    assert Signs(is_plain=True).show("a\tb\r\n\x1b") == "a<TAB>b<CR><LF>\n<1B>"


def test_a_mark_that_combines_has_something_to_stand_on() -> None:
    assert Signs().show("\u0301x") == "◌\u0301x"


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colours_on_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def printed(is_plain: bool = False) -> str:
        out = Terminal()
        paper_for(out, is_plain).print("plain ", Ink("green", "trained"))
        return out.getvalue()

    assert printed() == "plain \x1b[1;32mgreen\x1b[0m\n"
    assert printed(is_plain=True) == "plain green\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed() == "plain green\n"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert printed() == "plain green\n"


@given(st.text(st.characters(categories=["L", "N", "Mn"]), max_size=200))
def test_no_line_is_wider_than_the_paper_and_none_is_lost(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "40")
        paper = paper_for(Terminal(), False)
    lines = [[ink.text for ink in line] for line in paper.wrapped([Ink(text)], margin=2)]
    assert all(sum(map(width_of, "".join(line))) <= 38 for line in lines)
    assert "".join("".join(line) for line in lines) == text
