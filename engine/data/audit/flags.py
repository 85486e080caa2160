"""What the audit found: single findings, and their tally over a data set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from engine.data.conversation import Conversation


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
    """One finding in one row. `turn` counts from 1; None for the row as a whole. `count`: how often it was found."""

    code: str
    severity: Severity
    row: int
    file: str
    line: int
    message: str
    turn: int | None = None
    count: int = 1

    @property
    def place(self) -> str:
        turn = f", turn {self.turn}" if self.turn is not None else ""
        return f"{self.file}, line {self.line}{turn}"

    def elsewhere(self, row: int, file: str, line: int) -> RowFlag:
        """The same finding in another row."""
        return RowFlag(self.code, self.severity, row, file, line, self.message, self.turn, self.count)


def turn_flag(
    conversation: Conversation, code: str, severity: Severity, message: str, turn: int | None = None, count: int = 1
) -> RowFlag:
    """A finding in a conversation; `turn` counts from 0 here and from 1 in the flag."""
    shown = None if turn is None else turn + 1
    return RowFlag(code, severity, conversation.row, conversation.file, conversation.line, message, shown, count)


@dataclass(frozen=True, slots=True)
class AuditFlag:
    """All findings of one code: how many, the first rows, and a message with their places."""

    code: str
    severity: Severity
    count: int
    rows: tuple[int, ...]
    message: str


@dataclass(slots=True)
class FlagTally:
    """Counts findings by code and keeps the first ones of each."""

    kept: int = 5
    _first: dict[str, list[RowFlag]] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, flag: RowFlag) -> None:
        """Take note of a finding; findings come in row order."""
        self._counts[flag.code] += flag.count
        first = self._first.setdefault(flag.code, [])
        if len(first) < self.kept:
            first.append(flag)

    def summary(self) -> tuple[AuditFlag, ...]:
        """One flag a code, the worst and then the most frequent first."""
        flags = [
            AuditFlag(code, first[0].severity, self._counts[code], _rows(first), _message(first))
            for code, first in self._first.items()
        ]
        return tuple(sorted(flags, key=lambda flag: (-flag.severity.rank, -flag.count, flag.code)))


def _rows(flags: list[RowFlag]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(flag.row for flag in flags))


def _message(flags: list[RowFlag]) -> str:
    """What was found first, and where else."""
    first, *others = flags
    places = [other.place.removeprefix(f"{first.file}, ") for other in others]
    return f"{first.place}: {first.message}" + (f"; also in {'; '.join(places)}" if places else "")
