"""What a long wait says on a terminal."""

from __future__ import annotations

import io

import pytest

from engine.inspect import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("done", "total", "said"),
    [
        (0, 0, "reading data"),
        (300, 1000, "reading data 0.3 of 1.0 KB"),
        (12, 999, "reading data 12 of 999 bytes"),
        (12_345_678, 3_400_000_000, "reading data 0.0 of 3.4 GB"),
        (5_000_000, 0, "reading data 5.0 MB"),
    ],
)
def test_bytes_are_told_in_a_size_that_people_know(done: int, total: int, said: str) -> None:
    assert progress.said_of_bytes("reading data", done, total) == said


def test_a_line_is_wiped_in_the_end_and_files_get_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        with progress.reading_shown(out) as told:
            told("reading data", 1_000_000, 2_000_000)
            told("loading the tokenizer", 0, 0)
    first, second, wiped = terminal.getvalue().split("\r")[1:4]
    assert (first, second.rstrip()) == ("reading data 1.0 of 2.0 MB", "loading the tokenizer")
    assert not wiped.strip() and len(wiped) == len(first)
    assert file.getvalue() == ""


def test_what_is_over_at_once_shows_nothing() -> None:
    terminal = Terminal()
    with progress.rows_shown("audited", terminal) as told:
        told(5, 5)
    assert terminal.getvalue() == ""
