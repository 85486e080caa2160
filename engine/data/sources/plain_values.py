"""Values of tables as JSON knows them: what a chat template prints, what a hash is made of, what a file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def plain(value: Any) -> Any:
    """Nested structs, lists and numbers as they are; other types as the text or number that says the same.

    Dates and times are in ISO 8601, durations in seconds, decimals numbers (whole ones without a fraction), bytes the
    UTF-8 text that they are, or else their hexadecimal digits.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return _text_of(value)
    return str(value)


def _text_of(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.hex()
