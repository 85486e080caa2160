"""Values of tables as JSON knows them: what a chat template prints, what a hash is made of, what a file can hold.

Dates and times are in ISO 8601, durations in seconds, decimals numbers (whole ones without a fraction), bytes the UTF-8
text that they are, or else their hexadecimal digits. A column that holds JSON as text, as `datasets` keeps values of
many shapes, is what that JSON says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

Converter = Callable[[Any], Any]


def converter_of(kind: Any) -> Converter | None:
    """How values of a `pyarrow.DataType`, as pyarrow turns them into Python, become plain; None where they are."""
    from pyarrow import JsonType, types

    if isinstance(kind, JsonType):
        return _of_values(json.loads)
    if types.is_struct(kind):
        return _of_structs({field.name: convert for field in kind if (convert := converter_of(field.type))})
    if types.is_map(kind):
        return _of_maps(converter_of(kind.item_type))
    if hasattr(kind, "value_type") and not types.is_dictionary(kind):
        return _of_lists(converter_of(kind.value_type))
    if types.is_dictionary(kind):
        return converter_of(kind.value_type)
    is_plain = (types.is_string, types.is_large_string, types.is_integer, types.is_boolean, types.is_floating)
    return None if any(of_kind(kind) for of_kind in is_plain) else _of_values(_plain)


def _of_values(convert: Converter) -> Converter:
    return lambda value: None if value is None else convert(value)


def _of_structs(fields: dict[str, Converter]) -> Converter | None:
    if not fields:
        return None
    return _of_values(lambda value: value | {name: convert(value[name]) for name, convert in fields.items()})


def _of_maps(convert: Converter | None) -> Converter:
    items = convert or (lambda item: item)
    return _of_values(lambda value: {str(key): items(item) for key, item in value.items()})


def _of_lists(convert: Converter | None) -> Converter | None:
    if convert is None:
        return None
    return _of_values(lambda value: [convert(item) for item in value])


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return _text_of(value)
    return value if isinstance(value, str | bool | int | float) else str(value)


def _text_of(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.hex()
