"""What the audit found: single findings, and their tally over a data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is; the dashboard shows warnings and worse as alerts."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for info, growing with the harm."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class RowFlag:
    """One finding in one row. `turn` counts from 1; None for the row as a whole."""

    code: str
    severity: Severity
    row: int
    file: str
    line: int
    message: str
    turn: int | None = None

    @property
    def place(self) -> str:
        turn = f", turn {self.turn}" if self.turn is not None else ""
        return f"{self.file}, line {self.line}{turn}"


@dataclass(frozen=True, slots=True)
class AuditFlag:
    """All findings of one code: how many, the first rows, and the first one's place and message."""

    code: str
    severity: Severity
    count: int
    rows: tuple[int, ...]
    message: str


@dataclass(slots=True)
class FlagTally:
    """Counts findings by code and keeps the first rows of each."""

    rows_kept: int = 5
    _first: dict[str, RowFlag] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _rows: dict[str, list[int]] = field(default_factory=dict)

    def add(self, flags: Iterable[RowFlag]) -> None:
        """Take note of findings, in row order."""
        for flag in flags:
            self._first.setdefault(flag.code, flag)
            self._counts[flag.code] = self._counts.get(flag.code, 0) + 1
            rows = self._rows.setdefault(flag.code, [])
            if len(rows) < self.rows_kept and flag.row not in rows:
                rows.append(flag.row)

    def count(self, code: str) -> int:
        """How many findings of this code there are."""
        return self._counts.get(code, 0)

    def summary(self) -> tuple[AuditFlag, ...]:
        """One flag a code, the worst and then the most frequent first."""
        flags = [
            AuditFlag(code, first.severity, self._counts[code], tuple(self._rows[code]), _message(first))
            for code, first in self._first.items()
        ]
        return tuple(sorted(flags, key=lambda flag: (-flag.severity.rank, -flag.count, flag.code)))


def _message(first: RowFlag) -> str:
    return f"{first.place}: {first.message}"
