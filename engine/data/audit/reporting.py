"""The report of a ledger, at any time while rows are entered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.data.audit.flags import AuditFlag
from engine.data.audit.ledger import Ledger
from engine.data.audit.report import Report
from engine.data.audit.whole_set import about_the_set
from engine.data.sources.rows import DataFile


def report_of(ledger: Ledger, files: Sequence[DataFile], about_tokenizer: Iterable[AuditFlag] = ()) -> Report:
    """All that the ledger holds so far; its training rows and tokens are all the kept ones."""
    flags = [*ledger.tally.summary(), *about_the_set(ledger, files), *about_tokenizer]
    return Report(
        rows_read=len(ledger.places),
        rows_kept=ledger.kept,
        rows_dropped=ledger.dropped,
        rows_truncated=ledger.truncated,
        rows_without_end=ledger.without_end,
        train_rows=ledger.kept,
        eval_rows=0,
        tokens=ledger.shares.tokens,
        loss_tokens=ledger.shares.loss_tokens,
        longest=ledger.longest,
        bad_rows=tuple(ledger.bad_rows),
        flags=tuple(sorted(flags, key=lambda flag: -flag.severity.rank)),
        places=ledger.places,
        data_hashes={str(file.path): file.sha256 for file in files},
        kinds=dict(ledger.kinds.most_common()),
        trained_by_role=ledger.shares.by_role(),
        lengths=dict(sorted(ledger.lengths.items())),
        left_out=dict(ledger.left_out.most_common()),
    )
