"""One JSON document: an array of objects, or an object with one list of objects in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from engine.data.errors import DataError
from engine.data.sources.json_text import JsonText
from engine.data.sources.parse import json_type
from engine.data.sources.stretches import Stretches

_SIGNS_OF_A_MESSAGE = ({"role"}, {"from", "value"})


def find_objects(text: JsonText) -> Stretches | None:
    """The rows of a JSON document; None where several objects follow one another, as in JSON Lines.

    An array holds one row an element. An object holds its rows in its one list of objects, `{"data": [...]}`, whatever
    else it holds; without such a list, or where the list is that of a chat's messages, the object itself is one row.

    Raises:
        DataError: not valid JSON; or neither array nor object; or several lists of objects, any of which may be meant.
    """
    if not (first := text.peek()):
        return Stretches()
    if first == "[":
        rows = _elements(text).rows
        _expect_end(text)
        return rows
    if first != "{":
        value, _ = text.value()
        raise DataError(f"{text.path} holds {json_type(value)}; expected an array of objects, or an object with one.")
    start, line, text.checksum = text.offset, text.line, 0
    lists = _lists_of(text)
    whole = Stretches()
    whole.add(start, text.offset - start, line, text.checksum)
    end = text.line
    if text.peek() and line == end < text.line:
        return None
    _expect_end(text)
    if len(lists) > 1:
        names = " and ".join(lists)
        raise DataError(
            f"{text.path} has several lists of objects ({names}), any of which may be the rows; write each to a file."
        )
    return next(iter(lists.values())).rows if lists else whole


@dataclass
class _List:
    """The elements of an array, as far as they matter here."""

    rows: Stretches = field(default_factory=Stretches)
    first: Any = None

    @property
    def holds_rows(self) -> bool:
        """Its elements are objects, and not the messages of a chat."""
        return isinstance(self.first, dict) and not any(signs <= self.first.keys() for signs in _SIGNS_OF_A_MESSAGE)


def _elements(text: JsonText) -> _List:
    found = _List()
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return found
    while True:
        text.peek()
        start, line = text.offset, text.line
        value, content = text.value()
        if not len(found.rows):
            found.first = value
        found.rows.add(start, len(content), line, crc32(content))
        if text.take(",", "]") == "]":
            return found


def _lists_of(text: JsonText) -> dict[str, _List]:
    """The lists of rows in the object that begins here, by their keys."""
    lists: dict[str, _List] = {}
    text.take("{")
    if text.peek() == "}":
        text.take("}")
        return lists
    while True:
        text.expect('"')
        key, _ = text.value()
        text.take(":")
        if text.peek() == "[":
            elements = _elements(text)
            if elements.holds_rows:
                if key in lists:
                    raise DataError(f"{text.path}, line {text.line}: the key {key!r} stands twice in one object.")
                lists[key] = elements
        else:
            text.value()
        if text.take(",", "}") == "}":
            return lists


def _expect_end(text: JsonText) -> None:
    if text.peek():
        raise DataError(
            f"{text.path}, line {text.line}, column {text.column}: the text goes on after the end of the JSON value."
        )
