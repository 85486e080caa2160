"""What the audit knows of each row, in a few bytes a row, so that filters over millions of rows take milliseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.data.audit.flags import Severity
from engine.data.conversation import Conversation, Document
from engine.data.examine import Examined
from engine.inspect.fill import KeptRows

_BITS = 64
_NO_FLAG = -1


@dataclass(frozen=True, slots=True)
class Summary:
    """One row as the audit found it."""

    num_tokens: int
    loss_tokens: int
    severity: Severity | None
    flags: list[str]


class NameSets:
    """A set of names for each of `rows` rows; the names are few, so a set is some bits."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._numbers: dict[str, int] = {}
        self._words: list[NDArray[np.uint64]] = []  # [rows] each, 64 names a word

    def add(self, row: int, names: Iterable[str]) -> None:
        for name in names:
            number = self._numbers.get(name, len(self._numbers))
            if number == len(self._words) * _BITS:
                self._words.append(np.zeros(self._rows, dtype=np.uint64))
            self._numbers[name] = number
            self._words[number // _BITS][row] |= _bit(number)

    def of(self, row: int) -> list[str]:
        """The names of one row, in the order in which names came up."""
        return [
            name for name, number in list(self._numbers.items()) if self._words[number // _BITS][row] & _bit(number)
        ]

    def has(self, name: str, stop: int) -> NDArray[np.bool_]:
        """[stop] bool: which of the first rows have the name."""
        number = self._numbers.get(name)
        if number is None:
            return np.zeros(stop, dtype=np.bool_)
        found: NDArray[np.bool_] = (self._words[number // _BITS][:stop] & _bit(number)) != 0
        return found


class Summaries:
    """A summary of each row; `done` of them are there, from row 0 on. One thread enters, others may read."""

    def __init__(self, rows: int, limit: int) -> None:
        self.done = 0
        self.flags = NameSets(rows)
        self.roles = NameSets(rows)
        self._limit = limit
        self._num_tokens = np.zeros(rows, dtype=np.int32)
        self._loss_tokens = np.zeros(rows, dtype=np.int32)
        self._severity = np.full(rows, _NO_FLAG, dtype=np.int8)

    def enter(self, examined: Examined) -> None:
        """Take note of the next row."""
        row = examined.row
        assert row == self.done, "rows come in order"
        self._num_tokens[row] = examined.num_tokens
        self._loss_tokens[row] = examined.has_loss[: self._limit].sum()
        self._severity[row] = _severity(examined)
        self.flags.add(row, _codes(examined))
        self.roles.add(row, _roles(examined))
        self.done = row + 1

    def of(self, row: int) -> Summary | None:
        """What is known of a row; None where the audit has not been yet."""
        if row >= self.done:
            return None
        rank = int(self._severity[row])
        severity = None if rank == _NO_FLAG else list(Severity)[rank]
        return Summary(int(self._num_tokens[row]), int(self._loss_tokens[row]), severity, self.flags.of(row))

    def is_flagged(self, stop: int) -> NDArray[np.bool_]:
        """[stop] bool: which of the first rows have a flag of severity warning or worse."""
        return self._severity[:stop] >= Severity.WARNING.rank

    def kept(self) -> KeptRows:
        """The rows that can be trained."""
        kept = np.flatnonzero(self._loss_tokens[: self.done])
        return KeptRows(kept.tolist(), np.minimum(self._num_tokens[kept], self._limit).tolist())


def _severity(examined: Examined) -> int:
    if examined.bad is not None:
        return Severity.ERROR.rank
    return max((flag.severity.rank for flag in examined.flags), default=_NO_FLAG)


def _codes(examined: Examined) -> list[str]:
    return [examined.bad.code] if examined.bad is not None else [flag.code for flag in examined.flags]


def _roles(examined: Examined) -> set[str]:
    example = examined.example
    if isinstance(example, Conversation):
        return {turn.role for turn in example.turns}
    return {part.role for part in example.parts} if isinstance(example, Document) else set()


def _bit(number: int) -> np.uint64:
    return np.uint64(1 << (number % _BITS))
