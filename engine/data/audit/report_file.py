"""A report as JSON and three arrays, and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from numpy.typing import NDArray

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.audit.places import Places
from engine.data.audit.report import Report
from engine.data.errors import BadRow

Numbers = NDArray[Any]


def report_to_json(report: Report) -> tuple[dict[str, Any], tuple[Numbers, Numbers, Numbers]]:
    """Everything but the places as JSON values; the places as the arrays of `Places.arrays`."""
    plain = {
        field.name: getattr(report, field.name)
        for field in fields(report)
        if field.name not in ("bad_rows", "flags", "places")
    }
    return {
        **plain,
        "bad_rows": [asdict(bad_row) for bad_row in report.bad_rows],
        "flags": [asdict(flag) for flag in report.flags],
        "place_files": report.places.files,
    }, report.places.arrays


def report_from_json(written: dict[str, Any], rows: Numbers, files: Numbers, lines: Numbers) -> Report:
    """The report that was written.

    Raises:
        LookupError, TypeError, ValueError: it is not one.
    """
    values = dict(written)
    places = Places.from_arrays(values.pop("place_files"), rows, files, lines)
    bad_rows = tuple(BadRow(**bad_row) for bad_row in values.pop("bad_rows"))
    flags = tuple(
        AuditFlag(**{**flag, "severity": Severity(flag["severity"]), "rows": tuple(flag["rows"])})
        for flag in values.pop("flags")
    )
    by_role = {role: (tokens, loss_tokens) for role, (tokens, loss_tokens) in values.pop("trained_by_role").items()}
    lengths = {int(up_to): count for up_to, count in values.pop("lengths").items()}
    return Report(**values, bad_rows=bad_rows, flags=flags, places=places, trained_by_role=by_role, lengths=lengths)
