"""JSON in which nothing may be lost: a key that stands twice is an error, and what is wrong is said in words."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Never

_WORDS = {
    "Expecting value": "a value should begin here",
    "Expecting property name enclosed in double quotes": "a key in double quotes should begin here",
    "Extra data": "the text goes on after the end of the JSON value",
    "Unterminated string starting at": "the string that begins here has no end",
    "Invalid control character at": "a control character in a string; write it as an escape, such as \\n or \\u0000",
}
_BYTE_ORDER_MARK = "\ufeff"


class DoubleKeyError(ValueError):
    """An object has a key twice, so that one of the two values would be lost."""


def parse_json(text: str, allows_nan: bool = True) -> Any:
    """The value in a text; `allows_nan` takes NaN and the infinities, which are no numbers of JSON.

    Raises:
        json.JSONDecodeError: not JSON; `why_not_json` puts it into words.
        DoubleKeyError: an object has a key twice.
        RecursionError: nested too deeply.
        ValueError: a whole number has thousands of digits, or NaN is not allowed.
    """
    return (_DECODER if allows_nan else _DECODER_WITHOUT_NAN).decode(text)


def why_not_json(error: json.JSONDecodeError) -> str:
    """What is wrong where the parser stopped, as a user would say it."""
    found = error.doc[error.pos : error.pos + 1]
    if found == _BYTE_ORDER_MARK:
        return "a byte-order mark in the middle of the file, as joining files leaves it; take it out"
    if found == "\0" and error.msg == "Expecting value":
        return "a NUL byte, as a crash or a full disk leaves it"
    if error.msg == "Extra data" and error.doc[error.pos - 1] == "\r":
        return "a carriage return alone ends no line; save the file with the line ends of Unix or Windows"
    if error.msg == "Extra data" and found == "{":
        return "a second object in the same line; write one a line"
    if found in ("}", "]") and error.doc[: error.pos].rstrip().endswith(","):
        return "a comma with nothing behind it"
    return _WORDS.get(error.msg, error.msg)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise DoubleKeyError(f"the key {key!r} stands twice in one object")
    return made


def _no_number(name: str) -> Never:
    raise ValueError(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
_DECODER_WITHOUT_NAN = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)
