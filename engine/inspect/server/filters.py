"""Which rows a request means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.inspect.server.background import Background
from engine.serving.params import Params, RequestError

FILTER_PARAMS = ("text", "flag", "role", "flagged")


@dataclass(frozen=True, slots=True)
class RowFilter:
    """All that is given must hold: the row contains `text`, has the flag, has a turn of the role, has a warning."""

    text: str | None = None
    flag: str | None = None
    role: str | None = None
    flagged: bool = False

    @classmethod
    def of(cls, params: Params) -> RowFilter:
        return cls(params.text("text"), params.text("flag"), params.text("role"), params.flag("flagged"))

    @property
    def needs_audit(self) -> bool:
        return bool(self.flag or self.role or self.flagged)


@dataclass(frozen=True, slots=True)
class Matches:
    """The rows that match among the first `scanned` ones. `rows` is None where all rows match."""

    scanned: int
    total: int
    rows: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.total if self.rows is None else len(self.rows)

    def window(self, start: int, count: int) -> list[int]:
        """The matches `start` up to `start + count`."""
        if self.rows is None:
            return list(range(min(start, self.total), min(start + count, self.total)))
        found: list[int] = self.rows[start : start + count].tolist()
        return found

    def position_of_next(self, row: int, forward: bool) -> int | None:
        """The place among the matches of the first one behind `row`, or of the last one in front of it."""
        if self.rows is None:
            position = row + 1 if forward else min(row, self.total) - 1
        elif forward:
            position = int(np.searchsorted(self.rows, row, side="right"))
        else:
            position = int(np.searchsorted(self.rows, row, side="left")) - 1
        return position if 0 <= position < len(self) else None


def find_matches(wanted: RowFilter, background: Background, total: int) -> Matches:
    """What is known so far; it grows while the audit and the search go on.

    Raises:
        RequestError: the rows cannot be searched.
    """
    if wanted == RowFilter():
        return Matches(total, total)
    summaries = background.summaries
    search = background.search(wanted.text) if wanted.text else None
    scanned = min(summaries.done if wanted.needs_audit else total, search.scanned if search else total)
    if search is not None and search.error is not None:
        raise RequestError(search.error)
    matching = np.ones(scanned, dtype=np.bool_)
    if search is not None:
        matching &= search.found[:scanned]
    if wanted.flag is not None:
        matching &= summaries.flags.has(wanted.flag, scanned)
    if wanted.role is not None:
        matching &= summaries.roles.has(wanted.role, scanned)
    if wanted.flagged:
        matching &= summaries.is_flagged(scanned)
    return Matches(scanned, total, np.flatnonzero(matching))
