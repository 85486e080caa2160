"""What all formats ask of single values, and how they refuse what they cannot take."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Never

from engine.data.conversation import bad_row
from engine.data.errors import BadRowError
from engine.data.sources.rows import RawRow
from engine.data.strict_json import parse_json, why_not_json

MAX_DEPTH = 64
"""Values inside of tools and their arguments may be nested this deep."""


def refuse(raw: RawRow, code: str, reason: str, turn: int | None = None) -> Never:
    """Raise the row as a bad one; `turn` counts from 0."""
    raise BadRowError(bad_row(raw, code, reason, turn))


def type_in_words(value: Any) -> str:
    """What a value is, in words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing (null)" if value is None else names.get(type(value), f"a {type(value).__name__}")


def is_blank(value: Any) -> bool:
    """Whether a value holds nothing: null, white space, or an empty list or object."""
    return value is None or (not value.strip() if isinstance(value, str) else value in ([], {}))


def checked_text(raw: RawRow, name: str, value: Any, turn: int | None = None) -> str:
    """A string that UTF-8 can express.

    Raises:
        BadRowError: it is no string, or holds half of a surrogate pair.
    """
    if not isinstance(value, str):
        refuse(raw, "BAD_MESSAGE", f"{name} must be a string, found {type_in_words(value)}", turn)
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            half = f"U+{ord(value[error.start]):04X}"
            reason = f"{name} holds half of a surrogate pair ({half}), which no text can contain"
            refuse(raw, "BAD_MESSAGE", reason, turn)
    return value


def optional_text(raw: RawRow, name: str) -> str:
    """The row's string under that key; empty where the row has none."""
    value = raw.value.get(name)
    return "" if value is None else checked_text(raw, name, value)


def first_present(row: Mapping[str, Any], *names: str) -> str | None:
    """The first of the keys that holds something; failing that, the first that the row has at all."""
    present = [name for name in names if name in row]
    return next((name for name in present if not is_blank(row[name])), present[0] if present else None)


def parsed_json(text: str) -> Any:
    """What a string of JSON says.

    Raises:
        ValueError: it is not JSON; the message says why.
    """
    try:
        return parse_json(text, allows_nan=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{why_not_json(error)}, column {error.colno}") from None


def fault_in(value: Any, depth: int = 0) -> str | None:
    """Why a nested value cannot be written as JSON; None where it can."""
    if depth > MAX_DEPTH:
        return f"it is nested more than {MAX_DEPTH} levels deep"
    if isinstance(value, str):
        return "it holds half of a surrogate pair" if not _is_unicode(value) else None
    if isinstance(value, Mapping):
        wrong_keys = [key for key in value if not isinstance(key, str) or not _is_unicode(key)]
        if wrong_keys:
            return f"{wrong_keys[0]!r} cannot be the name of a value"
        return next(filter(None, (fault_in(item, depth + 1) for item in value.values())), None)
    if isinstance(value, list):
        return next(filter(None, (fault_in(item, depth + 1) for item in value)), None)
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a number of JSON"
    return None if value is None or isinstance(value, bool | int | float) else f"it holds {type_in_words(value)}"


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
