"""The audit of a data set as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from engine.data.audit.flags import Severity
from engine.data.audit.report import Report
from engine.data.counted import counted
from engine.inspect.fill import Json
from engine.inspect.validation import is_ok
from engine.printing.paper import Ink, Paper

_BAR = 24
_BAD_ROWS_SHOWN = 10


def print_report(report: Report, fill: Json | None, total: int, paper: Paper) -> None:
    """Print everything; `total` is how many rows there are, of which the report may have seen only the first."""
    _print_counts(report, fill, total, paper)
    _print_table("trained by role", list(_roles(report)), paper)
    _print_table("rows by length in tokens", list(_lengths(report)), paper)
    _print_bad_rows(report, paper)
    _print_flags(report, paper)
    verdict = "ok: nothing stands in the way of a run" if is_ok(report) else "not ok: look at the errors above"
    paper.print(Ink(verdict, "trained" if is_ok(report) else "error"))


def _print_counts(report: Report, fill: Json | None, total: int, paper: Paper) -> None:
    only = f" (the first of {total:,})" if report.rows_read < total else ""
    lines = {
        "rows": f"{report.rows_read:,} read{only}: {report.rows_kept:,} to train on, {report.rows_dropped:,} with "
        f"nothing to train, {report.rows_bad:,} bad{_in_brackets(report.left_out)}",
        "formats": ", ".join(f"{kind} {rows:,}" for kind, rows in report.kinds.items()) or "none",
        "tokens": f"{report.tokens:,}, of them trained {report.loss_tokens:,}{_percent(report)}; "
        f"the longest row has {report.longest:,}",
        "cut": f"{counted(report.rows_truncated, 'row')} at the limit of length, {report.rows_without_end:,} of them "
        "in an answer",
    }
    if fill is not None:
        lines["packs"] = (
            f"{fill['packs']:,} of {fill['slots'] // max(1, fill['packs']):,} tokens, {fill['share']:.1%} full"
        )
    for name, text in lines.items():
        paper.paragraph(Ink(f"{name:<9}", "heading"), text, margin=9)
    paper.print()


def _in_brackets(reasons: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{reason} {rows:,}' for reason, rows in reasons.items())})" if reasons else ""


def _percent(report: Report) -> str:
    return f" ({report.loss_tokens / report.tokens:.0%})" if report.tokens else ""


def _roles(report: Report) -> Iterator[tuple[str, str, float]]:
    for role, (tokens, loss_tokens) in report.trained_by_role.items():
        share = loss_tokens / tokens
        yield role, f"{loss_tokens:>13,} of {tokens:>13,}  {share:>4.0%}", share


def _lengths(report: Report) -> Iterator[tuple[str, str, float]]:
    most = max(report.lengths.values(), default=1)
    for up_to, rows in report.lengths.items():
        yield f"up to {up_to:,}", f"{rows:>13,}", rows / most


def _print_table(title: str, lines: list[tuple[str, str, float]], paper: Paper) -> None:
    """Lines of a name, numbers, and a share that is drawn as a bar; nothing without lines."""
    if not lines:
        return
    sign = "#" if paper.signs.is_plain else "█"
    paper.print(Ink(title, "heading"))
    for name, numbers, share in lines:
        bar = sign * math.ceil(share * _BAR)
        paper.print(f"  {name:<16}{numbers}", Ink(f"  {bar}" if bar else "", "faint"))
    paper.print()


def _print_bad_rows(report: Report, paper: Paper) -> None:
    if not report.bad_rows:
        return
    paper.print(Ink("bad rows", "heading"))
    for bad in report.bad_rows[:_BAD_ROWS_SHOWN]:
        paper.paragraph(Ink("  "), paper.signs.show_in_line(str(bad)), margin=4)
    if len(report.bad_rows) > _BAD_ROWS_SHOWN:
        paper.print(f"  and {len(report.bad_rows) - _BAD_ROWS_SHOWN:,} more; --json has them all")
    paper.print()


def _print_flags(report: Report, paper: Paper) -> None:
    marks = {"info": "-", "warning": "!", "error": "x", "critical": "x"}
    paper.print(Ink("flags", "heading"))
    for flag in report.flags:
        severity = Severity(flag.severity)
        head = Ink(f"  {marks[severity]} {severity} {flag.code} ({flag.count:,}): ", severity)
        rows = f" (first rows: {', '.join(map(str, flag.rows))})" if flag.rows else ""
        paper.paragraph(head, paper.signs.show_in_line(flag.message) + rows, margin=4)
    if not report.flags:
        paper.print("  none")
    paper.print()
