"""What training consumes, and what preparing it has to report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.data.errors import BadRow
from engine.data.flags import AuditFlag


@dataclass(frozen=True, slots=True)
class Sample:
    """One row, ready to train: `labels` has the indices of `input_ids`, -100 where there is no loss."""

    row: int
    input_ids: list[int]
    labels: list[int]

    @property
    def loss_tokens(self) -> int:
        return sum(label >= 0 for label in self.labels)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands; `line` counts from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the rows, training and evaluation together.

    Rows are `rows_read` = `rows_kept` + `rows_dropped` (nothing to train within the limit) + the bad ones, which
    `bad_rows` lists one by one. `rows_without_end` were cut in the middle of an answer. Token counts are those of the
    training rows. `data_hashes`: SHA-256 by file.
    """

    rows_read: int
    rows_kept: int
    rows_dropped: int
    rows_truncated: int
    rows_without_end: int
    train_rows: int
    eval_rows: int
    tokens: int
    loss_tokens: int
    longest: int
    bad_rows: tuple[BadRow, ...]
    flags: tuple[AuditFlag, ...]
    places: Mapping[int, Place]
    data_hashes: Mapping[str, str]

    @property
    def rows_bad(self) -> int:
        """Rows that were skipped under `on_bad_row: skip`."""
        return len(self.bad_rows)


@dataclass(frozen=True, slots=True)
class PreparedData:
    """Samples in the order of their rows; `eval` is empty where no evaluation set was asked for."""

    train: list[Sample]
    eval: list[Sample]
    report: Report
