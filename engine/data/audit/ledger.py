"""The book-keeping of a preparation or an audit: what became of each row, and what was found on the way."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from engine.data.audit.flags import FlagTally
from engine.data.audit.places import Places
from engine.data.audit.shares import TrainedShares
from engine.data.errors import BadRow
from engine.data.examine import Examined

UNKNOWN = "unknown"
"""The kind of a row that cannot be used."""


@dataclass(slots=True)
class RowCounts:
    """Rows that were entered, and those of them that were kept."""

    rows: int = 0
    kept: int = 0

    def add(self, is_kept: bool) -> None:
        self.rows += 1
        self.kept += is_kept


@dataclass(slots=True)
class Ledger:
    """Counts of rows and tokens, the bad rows, and all findings.

    Rows are entered in ascending order, all of a data set or any part of it.
    Bad rows are counted like all others; whether they stop a run is for the caller to decide, and `bad_rows_stop` only
    says whether they are told as an error or as a warning. From `first_eval_row` on, rows are those of evaluation.
    `pads_batches`: a batch is as long as its longest row, so that lengths are worth a finding.
    """

    bad_rows_stop: bool = False
    first_eval_row: int | None = None
    pads_batches: bool = False
    training: RowCounts = field(default_factory=RowCounts)
    evaluation: RowCounts = field(default_factory=RowCounts)
    places: Places = field(default_factory=Places)
    bad_rows: list[BadRow] = field(default_factory=list)
    tally: FlagTally = field(default_factory=FlagTally)
    unanswered: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    kinds_of_files: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    lengths: Counter[int] = field(default_factory=Counter)
    trained_rows: array[int] = field(default_factory=lambda: array("q"))
    trained_lengths: array[int] = field(default_factory=lambda: array("q"))
    left_out: Counter[str] = field(default_factory=Counter)
    shares: TrainedShares = field(default_factory=TrainedShares)
    dropped: int = 0
    truncated: int = 0
    without_end: int = 0
    longest: int = 0

    def enter(self, examined: Examined) -> None:
        """Enter what became of a row."""
        self.places.add(examined.row, examined.file, examined.line)
        is_eval = self.first_eval_row is not None and examined.row >= self.first_eval_row
        (self.evaluation if is_eval else self.training).add(bool(examined.kept))
        if examined.bad is not None:
            self.bad_rows.append(examined.bad)
            self.left_out[examined.bad.code] += 1
            self.kinds[UNKNOWN] += 1
            return
        self._enter_kind(examined)
        self._enter_flags(examined)
        self.lengths[_up_to(examined.num_tokens)] += 1
        self.dropped += not examined.kept
        self.truncated += examined.is_truncated
        self.longest = max(self.longest, examined.kept)
        if self.pads_batches and examined.kept and not is_eval:
            self.trained_rows.append(examined.row)
            self.trained_lengths.append(examined.kept)
        if examined.rendered is not None and examined.kept:
            self.shares.add(examined.rendered, examined.kept)

    @property
    def kept(self) -> int:
        return self.training.kept + self.evaluation.kept

    def _enter_kind(self, examined: Examined) -> None:
        if examined.example is not None:
            self.kinds[examined.example.kind] += 1
            self.kinds_of_files[examined.file][examined.example.kind] += 1

    def _enter_flags(self, examined: Examined) -> None:
        for flag in examined.flags:
            self.tally.add(flag)
            self.without_end += flag.code == "END_TOKEN_CUT"
            self.unanswered[examined.file] += flag.code == "ENDS_WITHOUT_ANSWER"
        if not examined.kept:
            self.left_out["OVER_LIMIT" if examined.has_loss.any() else "NO_ANSWER"] += 1


def _up_to(length: int) -> int:
    """The power of two at or above a length."""
    return 1 << max(0, length - 1).bit_length()
