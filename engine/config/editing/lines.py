"""The lines of a text, whatever they end with, found from any place in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

# YAML 1.1 ends a line, and a comment, at each of these.
_LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_TAB = 8


def line_start(text: str, place: int) -> int:
    """Where the line of `place` begins."""
    return max((end.end() for end in _LINE_END.finditer(text, 0, place)), default=0)


def line_end(text: str, place: int) -> int:
    """Where the line of `place` ends, before its line end."""
    end = _LINE_END.search(text, place)
    return end.start() if end else len(text)


def column_of(text: str, place: int) -> int:
    """How many characters stand before `place` in its line; a byte-order mark is none."""
    return len(text[line_start(text, place) : place].lstrip("\ufeff"))


def newline_of(text: str) -> str:
    """How this text ends its lines."""
    end = _LINE_END.search(text)
    return end.group() if end else "\n"


def lines_behind(text: str, place: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each line after that of `place`, without line ends."""
    while end := _LINE_END.search(text, place):
        place = end.end()
        yield place, line_end(text, place)


def indentation(line: str) -> int:
    """The columns before the first character of a line."""
    line = line.expandtabs(_TAB)
    return len(line) - len(line.lstrip(" "))


def end_with_comments(text: str, place: int, least: int) -> int:
    """The end of the last comment behind the line of `place` that is indented by `least` columns or more.

    Blank lines in between are passed over; it is the end of that line where there is no such comment.
    """
    last = line_end(text, place)
    for start, stop in lines_behind(text, place):
        line = text[start:stop]
        if line.strip() and not (line.lstrip().startswith("#") and indentation(line) >= least):
            break
        if line.strip():
            last = stop
    return last
