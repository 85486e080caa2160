"""Findings about files and the data set as a whole, worked out from the ledger's counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.audit.ledger import Ledger
from engine.data.audit.long_rows import about_long_rows
from engine.data.audit.shares import Mask, MaskShare
from engine.data.counted import counted
from engine.data.sources.rows import DataFile

WRONG_ROLE_SHARE = 0.1
"""From this share of a file's rows on, chats without a last answer look like a wrong role rather than odd chats."""
WRONG_ROLE_ROWS = 10
"""Files with fewer rows say too little about that share."""


def about_the_set(ledger: Ledger, files: Sequence[DataFile]) -> Iterator[AuditFlag]:
    """The findings that no single row shows."""
    yield from _all_trained(ledger)
    yield from _nothing_trained(ledger)
    yield from _wrong_roles(ledger)
    yield from _mixed_kinds(ledger)
    yield from _byte_order_marks(files)
    yield from _empty_files(files)
    yield from _bad_rows(ledger)
    yield from about_long_rows(ledger.trained_lengths, ledger.trained_rows, ledger.places)


def _all_trained(ledger: Ledger) -> Iterator[AuditFlag]:
    """A mask that leaves nothing out is no mask. Plain text has none, so there it is as it should be."""
    chats, given = ledger.shares.masks[Mask.CHAT], ledger.shares.masks[Mask.GIVEN]
    if chats.is_all_trained:
        message = (
            f"100 % of the tokens of the chats are trained ({_size(chats)}), so no "
            "question and no header is left out; the rows hold answers alone, or the template has no headers"
        )
        yield AuditFlag("ALL_TRAINED", Severity.ERROR, chats.rows, (), message)
    elif given.is_all_trained:
        message = (
            f"100 % of the tokens are trained in the rows that bring their own loss or prompt ({_size(given)}), so no "
            "question is left out; are the labels a copy of the ids, or the prompts empty?"
        )
        yield AuditFlag("ALL_TRAINED", Severity.WARNING, given.rows, (), message)


def _size(share: MaskShare) -> str:
    return f"{counted(share.loss_tokens, 'token')} in {counted(share.rows, 'row')}"


def _nothing_trained(ledger: Ledger) -> Iterator[AuditFlag]:
    """Neither is a run begun that has nothing to train, nor one that has nothing to evaluate where it should."""
    reasons = ", ".join(f"{reason}: {count}" for reason, count in ledger.left_out.most_common())
    training, evaluation = ledger.training, ledger.evaluation
    if training.rows and not training.kept:
        message = f"there is nothing to train in {counted(training.rows, 'row')} ({reasons})"
        yield AuditFlag("NOTHING_TO_TRAIN", Severity.ERROR, training.rows, (), message)
    if evaluation.rows and not evaluation.kept:
        message = f"there is nothing to evaluate in {counted(evaluation.rows, 'row')} of evaluation"
        yield AuditFlag("NOTHING_TO_EVALUATE", Severity.ERROR, evaluation.rows, (), message)


def _wrong_roles(ledger: Ledger) -> Iterator[AuditFlag]:
    rows = ledger.places.rows_by_file()
    found = {
        file: f"{count} of {rows[file]} rows end without an answer; a role may be wrong throughout the file"
        for file, count in ledger.unanswered.items()
        if rows[file] >= WRONG_ROLE_ROWS and count >= WRONG_ROLE_SHARE * rows[file]
    }
    yield from _about_files("POSSIBLE_WRONG_ROLE", found, sum(ledger.unanswered[file] for file in found))


def _mixed_kinds(ledger: Ledger) -> Iterator[AuditFlag]:
    """Files of several formats side by side are usual; several formats within one file are rarely meant."""
    mixed = {file: kinds for file, kinds in ledger.kinds_of_files.items() if len(kinds) > 1}
    found = {
        file: f"mixes formats ({', '.join(f'{kind} {count}' for kind, count in kinds.most_common())}); "
        "each row is read by its own"
        for file, kinds in mixed.items()
    }
    yield from _about_files("MIXED_KINDS", found, sum(kinds.total() for kinds in mixed.values()))


def _about_files(code: str, found: dict[str, str], rows: int) -> Iterator[AuditFlag]:
    """One warning for all files: what the first shows, and how many others do so too."""
    if found:
        file, message = next(iter(found.items()))
        others = f"; so do {counted(len(found) - 1, 'more file')}" if len(found) > 1 else ""
        yield AuditFlag(code, Severity.WARNING, rows, (), f"{file}: {message}{others}")


def _byte_order_marks(files: Sequence[DataFile]) -> Iterator[AuditFlag]:
    marked = [str(file.path) for file in files if file.has_bom]
    if marked:
        message = f"{marked[0]} begins with a byte-order mark (BOM), which is left out"
        yield AuditFlag("BYTE_ORDER_MARK", Severity.INFO, len(marked), (), message)


def _empty_files(files: Sequence[DataFile]) -> Iterator[AuditFlag]:
    empty = [str(file.path) for file in files if file.is_empty]
    if empty:
        others = f"; the same goes for {counted(len(empty) - 1, 'more file')}" if len(empty) > 1 else ""
        yield AuditFlag("EMPTY_FILE", Severity.WARNING, len(empty), (), f"{empty[0]} holds no row{others}")


def _bad_rows(ledger: Ledger) -> Iterator[AuditFlag]:
    if ledger.bad_rows:
        rows = tuple(bad_row.row for bad_row in ledger.bad_rows[: ledger.tally.kept])
        severity, fate = (Severity.ERROR, "cannot be used") if ledger.bad_rows_stop else (Severity.WARNING, "skipped")
        yield AuditFlag("BAD_ROWS", severity, len(ledger.bad_rows), rows, f"{fate}; {ledger.bad_rows[0]}")
