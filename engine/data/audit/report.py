"""What became of the rows of a data set, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.data.audit.flags import AuditFlag
from engine.data.audit.places import Places
from engine.data.errors import BadRow


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the rows, training and evaluation together.

    Rows are `rows_read` = `rows_kept` + `rows_dropped` (nothing to train within the limit) + the bad ones, which
    `bad_rows` lists one by one. `left_out`: the dropped and the bad rows by reason, the most frequent first:
    the code of a bad row, `NO_ANSWER` for nothing to train at all, `OVER_LIMIT` for nothing to train within the limit.
    `rows_without_end` were cut in the middle of an answer. Token counts are those of the training rows.
    `data_hashes`: SHA-256 by file. `kinds`: rows by format, the bad ones as `unknown`. `trained_by_role`: tokens and
    loss tokens of the kept rows, up to the cut, by role; `template` for what belongs to no turn, `tokens` for rows that
    came tokenized. `lengths`: rows by length in tokens before the cut, in powers of two (key n: up to n tokens).
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
    places: Places
    data_hashes: Mapping[str, str]
    kinds: Mapping[str, int] = field(default_factory=dict)
    trained_by_role: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    lengths: Mapping[int, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows_bad(self) -> int:
        """Rows that were skipped under `on_bad_row: skip`."""
        return len(self.bad_rows)
