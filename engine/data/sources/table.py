"""Rows of an Arrow table as plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.data.errors import BadRow
from engine.data.sources.plain_values import converter_of
from engine.data.sources.rows import RawRow

Table = Any
"""A `pyarrow.Table`; pyarrow is imported only where tables are opened."""


def rows_of_table(table: Table, first_row: int, file: str, first_line: int) -> Iterator[RawRow | BadRow]:
    """The rows of the table, numbered from `first_row` and (as lines) from `first_line` on.

    A row with a value that cannot be read (a text that is not UTF-8, a date after the year 9999) comes as `BadRow`.
    """
    try:
        values = _values(table)
    except (ValueError, OverflowError) as error:
        if len(table) == 1:
            yield BadRow("BAD_VALUE", first_row, file, first_line, f"a value in it cannot be read: {error}")
            return
        for number in range(len(table)):
            yield from rows_of_table(table.slice(number, 1), first_row + number, file, first_line + number)
        return
    for number, value in enumerate(values):
        yield RawRow(first_row + number, file, first_line + number, value, is_columnar=True)


def _values(table: Table) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    for field in table.schema:
        if convert := converter_of(field.type):
            for value in values:
                value[field.name] = convert(value[field.name])
    return values
