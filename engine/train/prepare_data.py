"""The data of a run, and what is told while it is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.config import Config
from engine.data import PreparedData, Report, Severity, prepare
from engine.events import Audit, AuditFlag
from engine.rundir import read_run_info, write_run_info
from engine.session.session import Session

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

AUDIT_COUNTS = (
    "rows_read",
    "rows_kept",
    "rows_dropped",
    "rows_bad",
    "rows_truncated",
    "rows_without_end",
    "train_rows",
    "eval_rows",
    "tokens",
    "loss_tokens",
    "longest",
)


def prepare_data(config: Config, session: Session, tokenizer: PreTrainedTokenizerBase) -> PreparedData:
    """Read, tokenize and judge the data; tells how far it is, and notes in `run.json` what the files were."""
    session.phase("reading data")

    def tell_reading(what: str, done: int, total: int) -> None:
        session.phase(what)
        session.progress(what, done, total, "bytes")

    def tell_progress(done: int, total: int) -> None:
        session.phase("tokenizing")
        session.progress("tokenizing", done, total, "rows")

    def tell_first_look(report: Report) -> None:
        if any(flag.severity != Severity.INFO for flag in report.flags):
            session.say(f"In the first {report.rows_read:,} rows:")
        _tell_audit(session, report)

    data = prepare(config.data, tokenizer, tell_progress, tell_first_look, session.say, tell_reading)
    _tell_audit(session, data.report)
    info = read_run_info(session.run)
    if info is not None:
        write_run_info(session.run, replace(info, data_hashes=dict(data.report.data_hashes)))
    return data


def _tell_audit(session: Session, report: Report) -> None:
    session.emit(audit_event(report))
    for flag in report.flags:
        if flag.severity != Severity.INFO:
            session.say(f"{flag.severity}: {flag.code} ({flag.count}): {flag.message}")


def audit_event(report: Report) -> Audit:
    """What the data room found, as an event."""
    flags = tuple(
        AuditFlag(
            code=flag.code,
            severity=flag.severity.value,
            count=flag.count,
            message=flag.message,
            first_rows=flag.rows,
        )
        for flag in report.flags
    )
    counts = {name: getattr(report, name) for name in AUDIT_COUNTS}
    return Audit(flags=flags, counts=counts)
