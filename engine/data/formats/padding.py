"""Rows of tables without what the table filled in.

A table gives every row the columns of all rows, and every struct the fields of all structs in its column. What a row
did not have comes back as null; whoever wrote the data never wrote that null.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.data.formats.fields import MAX_DEPTH, refuse
from engine.data.sources.rows import RawRow


def without_padding(raw: RawRow) -> RawRow:
    """The row without the nulls of its table, and its maps as objects.

    Fields of a struct that are null, or structs of nothing but nulls, are left out. Elements of lists stay. A row that
    does not come from a table is returned as it is: its nulls were written on purpose.

    Raises:
        BadRowError: it is nested too deeply.
    """
    return replace(raw, value=_struct(raw, raw.value, 0)) if raw.is_columnar else raw


def _struct(raw: RawRow, struct: dict[Any, Any], depth: int) -> dict[Any, Any]:
    return {key: item for key, value in struct.items() if not _is_padding(item := _value(raw, value, depth + 1), value)}


def _is_padding(item: Any, original: Any) -> bool:
    return item is None or (item == {} and isinstance(original, dict))


def _value(raw: RawRow, value: Any, depth: int) -> Any:
    if depth > 2 * MAX_DEPTH:
        refuse(raw, "BAD_MESSAGE", "it is nested too deeply")
    if isinstance(value, dict):
        return _struct(raw, value, depth)
    if isinstance(value, list) and isinstance(_first(value), dict | list | tuple):
        if _is_map(value):
            return _struct(raw, dict(value), depth)
        return [_value(raw, item, depth + 1) for item in value]
    return value


def _first(values: list[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _is_map(pairs: list[Any]) -> bool:
    """A column of type map comes as a list of (key, value)."""
    return all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)
