"""Which rows hold a text, found out bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.errors import BadRow
from engine.data.sources.rows import RawRow

_ROWS_AT_ONCE = 256
_LABELS = frozenset({"role", "from", "type"})
"""Keys whose values are names of kinds, which nearly every row has."""


class TextSearch:
    """A search for one text, upper or lower case, in the strings that the rows' values hold."""

    def __init__(self, text: str, rows: int) -> None:
        self._wanted = text.casefold()
        self.found: NDArray[np.bool_] = np.zeros(rows, dtype=np.bool_)
        self.scanned = 0
        self.error: str | None = None

    @property
    def is_finished(self) -> bool:
        """All rows have been looked at, or the rest cannot be read."""
        return self.error is not None or self.scanned == len(self.found)

    def next_rows(self) -> tuple[int, int]:
        """The rows to look at next."""
        return self.scanned, min(self.scanned + _ROWS_AT_ONCE, len(self.found))

    def enter(self, row: RawRow | BadRow) -> None:
        """Look at the next row."""
        texts = [row.reason] if isinstance(row, BadRow) else _texts("", row.value)
        self.found[self.scanned] = any(self._wanted in text.casefold() for text in texts)
        self.scanned += 1


def _texts(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, str) and key not in _LABELS:
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(name, item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(key, item)
