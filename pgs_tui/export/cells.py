"""What stands in the cells of a table."""

from __future__ import annotations

Cell = str | int | float | None


def cell(value: object) -> Cell:
    """Several values as one cell with blanks between them, true and false as in the log."""
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return " ".join(map(str, value))
        case str() | int() | float() | None:
            return value
    raise AssertionError(f"an event has no value such as {value!r}")
