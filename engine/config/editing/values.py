"""Puts another value in the place of one that is written, with the comment behind it where it was."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.config.editing.lines import column_of, line_end, newline_of
from engine.config.editing.spots import Form, Pair, Spot

_COMMENT_BEHIND = re.compile(r"( +)#")
_COLON = re.compile(r"\s*:")
_WHITE = re.compile(r"\s")
_USUAL_GAP = 2


def replaced(text: str, start: int, stop: int, new: str) -> str:
    """The text with `new` at this place; a comment behind it stays in its column, or moves as far as it has to."""
    before, old, after = text[:start], text[start:stop], text[stop:]
    if before and not _WHITE.match(before[-1]) and before[-1] not in "[{,":
        new = f" {new}"
    comment = _COMMENT_BEHIND.match(after)
    if comment and "\n" not in old:
        gap = len(comment[1])
        after = " " * max(gap + len(old) - len(new), min(gap, _USUAL_GAP)) + after[gap:]
    return before + new + after


def replaced_value(text: str, pair: Pair, new: str) -> str:
    """The text with another value for a key."""
    value = pair.value
    if value.form in (Form.LIST, Form.MAPPING) and not value.in_line:
        return _replaced_block(text, pair, new)
    return replaced(text, value.start, value.stop, new)


def _replaced_block(text: str, pair: Pair, new: str) -> str:
    """A value that stands below its key gives way to one beside it. Comments between its lines go with it."""
    colon = _COLON.match(text, pair.stop)
    assert colon, "a key ends with a colon"
    end_of_key_line = line_end(text, colon.end())
    text = text[:end_of_key_line] + text[line_end(text, pair.value.stop) :]
    return replaced(text, colon.end(), colon.end(), new)


def replaced_items(text: str, spot: Spot, new: Sequence[str], same: Sequence[bool]) -> str:
    """The text with other items in a list that is written there and stays one; `same` tells which ones stay.

    The items keep their lines and comments; those that are left out take theirs along.
    """
    assert spot.items and new, "a list without items is written in another way"
    text = _with_length(text, spot, new)
    for number in reversed(range(min(len(new), len(spot.items)))):
        if not same[number]:
            item = spot.items[number]
            text = replaced(text, item.start, item.stop, new[number])
    return text


def _with_length(text: str, spot: Spot, new: Sequence[str]) -> str:
    """The text with as many items as there are new ones."""
    last = spot.items[-1].stop
    if len(new) < len(spot.items):
        kept = spot.items[len(new) - 1].stop
        return (
            text[:kept] + text[last:] if spot.in_line else text[: line_end(text, kept)] + text[line_end(text, last) :]
        )
    added = new[len(spot.items) :]
    if spot.in_line:
        return text[:last] + "".join(f", {item}" for item in added) + text[last:]
    dash = newline_of(text) + " " * column_of(text, spot.start) + "- "
    end = line_end(text, last)
    return text[:end] + "".join(dash + item for item in added) + text[end:]
