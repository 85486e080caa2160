"""The audit of a data set, and its findings in the shapes of docs/json.md."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.audit.ledger import Ledger
from engine.data.audit.report import Report
from engine.data.audit.reporting import report_of
from engine.inspect.fill import Json, KeptRows, fill_of_packs
from engine.inspect.opening import Inspection

Progress = Callable[[int, int], None]


def new_ledger(inspection: Inspection) -> Ledger:
    """An empty ledger that judges bad rows and lengths as the config does."""
    data = inspection.config.data
    return Ledger(data.on_bad_row == "stop", inspection.rows.first_eval_row, pads_batches=not data.packing)


def flags_of_all_rows(inspection: Inspection) -> tuple[AuditFlag, ...]:
    """Findings for which no row has to be looked at: about the tokenizer, and about sources without any row."""
    return (*inspection.tokenizer_flags(), *_without_rows(inspection))


def _without_rows(inspection: Inspection) -> Iterator[AuditFlag]:
    for use, purpose in (("training", "train on"), ("evaluation", "evaluate on")):
        sources = [source for source in inspection.rows.sources if source.use == use]
        if sources and not any(source.rows for source in sources):
            message = f"there is no row to {purpose} in {', '.join(source.spec.path for source in sources)}"
            yield AuditFlag("NO_ROWS", Severity.ERROR, len(sources), (), message)


def audit(inspection: Inspection, rows: int, progress: Progress) -> tuple[Report, Json | None]:
    """Examine the first `rows` rows as training would: what was found, and how full their packs are.

    `progress(done, total)` is called on the way.

    Raises:
        UserError: the rows cannot be read or rendered at all.
    """
    ledger = new_ledger(inspection)
    kept_rows, kept_lengths = array("q"), array("q")
    done = 0
    for batch in inspection.rows.batches(0, rows):
        for examined in inspection.examiner.examine(batch):
            ledger.enter(examined)
            if examined.kept:
                kept_rows.append(examined.row)
                kept_lengths.append(examined.kept)
        done += len(batch)
        progress(done, rows)
    fill = fill_of_packs(inspection, KeptRows(kept_rows, kept_lengths))
    return report_of(ledger, inspection.rows.files, flags_of_all_rows(inspection)), fill


def report_as_json(report: Report, fill: Json | None) -> Json:
    """What `pgs validate --json` prints."""
    return {
        "rows_read": report.rows_read,
        "rows_kept": report.rows_kept,
        "rows_dropped": report.rows_dropped,
        "rows_bad": report.rows_bad,
        "rows_truncated": report.rows_truncated,
        "rows_without_end": report.rows_without_end,
        "left_out": dict(report.left_out),
        "tokens": report.tokens,
        "loss_tokens": report.loss_tokens,
        "longest": report.longest,
        "roles": roles_as_json(report),
        "lengths": lengths_as_json(report),
        "kinds": dict(report.kinds),
        "flags": flags_of_set_as_json(report),
        "bad_rows": [
            {
                "code": bad.code,
                "row": bad.row,
                "file": bad.file,
                "line": bad.line,
                "column": bad.column,
                "turn": bad.turn,
                "reason": bad.reason,
            }
            for bad in report.bad_rows
        ],
        "fill": fill,
        "ok": is_ok(report),
    }


def is_ok(report: Report) -> bool:
    """No flag of severity error or worse."""
    return all(flag.severity.rank < Severity.ERROR.rank for flag in report.flags)


def flags_of_set_as_json(report: Report) -> list[Json]:
    return [
        {
            "code": flag.code,
            "severity": flag.severity.value,
            "count": flag.count,
            "first_rows": list(flag.rows),
            "message": flag.message,
        }
        for flag in report.flags
    ]


def roles_as_json(report: Report) -> dict[str, Json]:
    return {
        role: {"tokens": tokens, "loss_tokens": loss_tokens}
        for role, (tokens, loss_tokens) in report.trained_by_role.items()
    }


def lengths_as_json(report: Report) -> list[Json]:
    return [{"up_to": up_to, "rows": rows} for up_to, rows in report.lengths.items()]
