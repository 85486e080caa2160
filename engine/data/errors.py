"""What can be wrong with a data set, told to its owner in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import UserError


class DataError(UserError):
    """The data set cannot be used; the message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot become a training sample.

    ``line``, ``column`` and ``turn`` count from 1; ``column`` and ``turn`` are None where they make no sense.
    ``row`` counts from 0 over the joined sources.
    """

    code: str
    row: int
    file: str
    line: int
    reason: str
    column: int | None = None
    turn: int | None = None

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column is not None else ""
        turn = f", turn {self.turn}" if self.turn is not None else ""
        return f"{self.file}, line {self.line}{column}{turn}: {self.reason}"


class BadRowError(DataError):
    """Raised while a row is read, checked or rendered; the `on_bad_row` policy decides what follows."""

    def __init__(self, bad_row: BadRow) -> None:
        super().__init__(str(bad_row))
        self.bad_row = bad_row
