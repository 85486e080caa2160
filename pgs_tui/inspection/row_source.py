"""The rows of the list: all, those that match a filter, those of an alert, or those of a recorded batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pgs_tui.inspection.shapes import RowSummary, RowsWindow

WINDOW = 100
"""Rows that are fetched at once."""
KEPT_ROWS = 5000


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows are wanted; all of it must hold."""

    text: str = ""
    flag: str = ""
    role: str = ""
    flagged: bool = False

    @classmethod
    def read(cls, written: str) -> RowFilter:
        """As a person writes it: `flag:TRUNCATED`, `role:tool`, `flagged`; anything else is searched for."""
        found, words = cls(), []
        for word in written.split(" "):
            key, colon, value = word.partition(":")
            if colon and value and key.lower() == "flag":
                found = replace(found, flag=value.upper())
            elif colon and value and key.lower() == "role":
                found = replace(found, role=value.lower())
            elif word.lower() == "flagged":
                found = replace(found, flagged=True)
            else:
                words.append(word)
        return replace(found, text=" ".join(words).strip())

    @property
    def written(self) -> str:
        """The same, to be read again."""
        named = [f"flag:{self.flag}" if self.flag else "", f"role:{self.role}" if self.role else ""]
        return " ".join(filter(None, [*named, "flagged" if self.flagged else "", self.text]))

    @property
    def params(self) -> dict[str, Any]:
        """What the inspector is asked with."""
        named = {"text": self.text, "flag": self.flag, "role": self.role, "flagged": self.flagged}
        return {name: value for name, value in named.items() if value}

    def __bool__(self) -> bool:
        return bool(self.params)


class RowSource:
    """Places from 0 to `matched`; a row that was not fetched yet is None.

    Where `ids` names the rows, they are shown in that order and there is no filter.
    """

    def __init__(self, wanted: RowFilter | None = None, ids: Iterable[int] = ()) -> None:
        self.filter = wanted or RowFilter()
        self.ids = tuple(ids)
        self.matched = len(self.ids)
        self.total = 0
        self.scanned = 0
        self.answered = bool(self.ids)
        """Whether it is known how many rows match, so far."""
        self._rows: dict[int, RowSummary] = {}

    def row(self, place: int) -> RowSummary | None:
        """The row at a place of the list."""
        return self._rows.get(place)

    def place_of(self, row: int) -> int | None:
        """Where the row of this number stands, if that is known."""
        if self.ids:
            return self.ids.index(row) if row in self.ids else None
        if not self.filter:
            return row if row < self.matched else None
        return next((place for place, known in self._rows.items() if known.row == row), None)

    @property
    def complete(self) -> bool:
        """All rows were looked at, so that no more can match."""
        return self.answered and self.scanned >= self.total

    def forget_unmeasured(self, seen: range) -> None:
        """Let rows be fetched anew that the audit had not reached when they came, but for those in sight."""
        self._rows = {place: row for place, row in self._rows.items() if row.num_tokens is not None or place in seen}

    def wanted(self, first: int, count: int, again: bool = False) -> dict[str, Any] | None:
        """What to ask for so that the places from `first` on are there, None while they are.

        `again` asks even then, for what may have changed.
        """
        if self.ids:
            return self._wanted_id(first, count, again)
        places = range(first, min(first + count, self.matched) if self.answered else first + 1)
        missing = next((place for place in places if place not in self._rows), None)
        if missing is None and not again:
            return None
        start = max((first if missing is None else missing) - WINDOW // 4, 0)
        return {"start": start, "count": WINDOW, **self.filter.params}

    def _wanted_id(self, first: int, count: int, again: bool) -> dict[str, Any] | None:
        for place in range(first, min(first + count, len(self.ids))):
            known = self._rows.get(place)
            if known is None or (again and known.num_tokens is None):
                return {"start": self.ids[place], "count": 1}
        return None

    def take(self, window: RowsWindow, start: int) -> None:
        """Take in rows that were fetched from the place `start` on."""
        self.total, self.scanned = window.total, window.scanned
        if self.ids:
            self._rows.update((place, row) for row in window.rows for place, id in enumerate(self.ids) if id == row.row)
            return
        self.answered, self.matched = True, window.matched
        if len(self._rows) > KEPT_ROWS:
            self._rows.clear()
        self._rows.update((start + number, row) for number, row in enumerate(window.rows))

    def take_all(self, rows: Iterable[RowSummary]) -> None:
        """All there is, in this order: the rows of a recorded batch."""
        self._rows = dict(enumerate(rows))
        self.matched = self.total = self.scanned = len(self._rows)
        self.answered = True
