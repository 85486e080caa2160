"""The book-keeping of a preparation: what became of each row, and what was found on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from engine.data.audit.flags import AuditFlag, FlagTally, RowFlag, Severity
from engine.data.audit.report import Place
from engine.data.errors import BadRow, DataError
from engine.data.examine import Examined
from engine.data.sources.rows import DataFile

WRONG_ROLE_SHARE = 0.1
"""From this share of a file's rows on, chats without a last answer look like a wrong role rather than odd chats."""
WRONG_ROLE_ROWS = 10
"""Files with fewer rows say too little about that share."""


@dataclass(slots=True)
class Ledger:
    """Counts of rows, the bad ones, and all findings."""

    stops_at_bad_rows: bool
    places: dict[int, Place] = field(default_factory=dict)
    bad_rows: list[BadRow] = field(default_factory=list)
    tally: FlagTally = field(default_factory=FlagTally)
    unanswered: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    truncated: int = 0
    without_end: int = 0
    longest: int = 0

    def _refuse(self, bad_row: BadRow) -> None:
        if self.stops_at_bad_rows:
            raise DataError(f"{bad_row} (data.on_bad_row: skip leaves such rows out).")
        self.bad_rows.append(bad_row)

    def enter(self, examined: Examined) -> None:
        """Enter what became of a row.

        Raises:
            DataError: it is bad, and bad rows stop the run.
        """
        self.places[examined.row] = Place(examined.file, examined.line)
        if examined.bad is not None:
            self._refuse(examined.bad)
            return
        for flag in examined.flags:
            self.add(flag)
        codes = {flag.code for flag in examined.flags}
        self.dropped += not examined.kept
        self.truncated += examined.is_truncated
        self.without_end += "END_TOKEN_CUT" in codes
        self.longest = max(self.longest, examined.kept)

    def add(self, flag: RowFlag) -> None:
        """Enter a finding."""
        self.tally.add(flag)
        if flag.code == "ENDS_WITHOUT_ANSWER":
            self.unanswered[flag.file] += 1

    def flags(self, files: list[DataFile]) -> tuple[AuditFlag, ...]:
        """All findings, with those about whole files; the worst first."""
        about_files = [*self._wrong_roles(), *_byte_order_marks(files), *self._bad_rows()]
        return tuple(sorted([*self.tally.summary(), *about_files], key=lambda flag: -flag.severity.rank))

    def _wrong_roles(self) -> list[AuditFlag]:
        rows = Counter(place.file for place in self.places.values())
        return [
            AuditFlag(
                "POSSIBLE_WRONG_ROLE",
                Severity.WARNING,
                count,
                (),
                f"{file}: {count} of {rows[file]} rows end without an answer; a role may be wrong throughout the file",
            )
            for file, count in self.unanswered.items()
            if rows[file] >= WRONG_ROLE_ROWS and count >= WRONG_ROLE_SHARE * rows[file]
        ]

    def _bad_rows(self) -> list[AuditFlag]:
        if not self.bad_rows:
            return []
        rows = tuple(bad_row.row for bad_row in self.bad_rows[: self.tally.kept])
        return [AuditFlag("BAD_ROWS", Severity.WARNING, len(self.bad_rows), rows, f"skipped; {self.bad_rows[0]}")]


def _byte_order_marks(files: list[DataFile]) -> list[AuditFlag]:
    marked = [str(file.path) for file in files if file.has_bom]
    if not marked:
        return []
    message = f"{marked[0]} begins with a byte-order mark (BOM), which is left out"
    return [AuditFlag("BYTE_ORDER_MARK", Severity.INFO, len(marked), (), message)]
