"""Rows of a CSV file whose head names a loss: what loggers of tables write."""

from __future__ import annotations

import csv
import math

from engine.events.console_numbers import read_number
from engine.events.foreign.fields import Field, field_of

_SEPARATORS = (",", "\t", ";")
_FEWEST = 2
"""Known columns that make a line the head of a table."""


class Table:
    """`take` the lines in order: a head, then its rows. A further head (a file continued by another) is taken too."""

    def __init__(self) -> None:
        self._columns: tuple[Field | None, ...] = ()
        self._separator = ","

    def take(self, line: str) -> dict[Field, float] | None:
        """The known values of a row; None for any other line. An empty cell has no value."""
        if self._columns:
            cells = _cells(line, self._separator)
            if len(cells) == len(self._columns):
                return self._values(cells)
        self._begin(line)
        return None

    def _begin(self, line: str) -> None:
        if "loss" not in line.lower() or "=" in line:
            return
        for separator in _SEPARATORS:
            if separator not in line:
                continue
            columns = _each_once([field_of(cell) for cell in _cells(line, separator)])
            known = {one for one in columns if one is not None}
            if len(known) >= _FEWEST and {"loss", "eval_loss"} & known:
                self._columns, self._separator = columns, separator
                return

    def _values(self, cells: list[str]) -> dict[Field, float] | None:
        found: dict[Field, float] = {}
        for column, cell in zip(self._columns, cells, strict=True):
            if column is None or not cell.strip():
                continue
            number = read_number(cell.strip())
            if number is None:
                return None
            if column != "step" or math.isfinite(number):
                found[column] = number
        return found or None


def _each_once(fields: list[Field | None]) -> tuple[Field | None, ...]:
    """Of two columns that mean the same the first counts."""
    return tuple(one if one not in fields[:place] else None for place, one in enumerate(fields))


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(iter(csv.reader([line], delimiter=separator)), [])
    except csv.Error:
        return []
