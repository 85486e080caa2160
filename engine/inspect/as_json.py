"""Rows in the shapes of docs/json.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.data.audit.flags import RowFlag, Severity
from engine.data.conversation import Example, role_of
from engine.data.errors import BadRow
from engine.data.examine import Examined
from engine.data.masking.reasons import Segment
from engine.inspect.opening import Inspection
from engine.inspect.tokens import RowTokens


def flags_as_json(flags: Iterable[RowFlag]) -> list[dict[str, Any]]:
    return [
        {"code": flag.code, "severity": flag.severity.value, "turn": flag.turn, "message": flag.message}
        for flag in flags
    ]


def bad_row_as_json(bad: BadRow) -> dict[str, Any]:
    """A bad row as the one flag that says why it cannot be used."""
    column = f"column {bad.column}: " if bad.column is not None else ""
    message = f"{column}{bad.reason}"
    return {"code": bad.code, "severity": Severity.ERROR.value, "turn": bad.turn, "message": message}


def all_flags(examined: Examined) -> list[dict[str, Any]]:
    """What is to be said about a row, whether it can be used or not."""
    return [bad_row_as_json(examined.bad)] if examined.bad is not None else flags_as_json(examined.flags)


def segment_as_json(segment: Segment, example: Example) -> list[Any]:
    """`[start, stop, turn, role, why, loss]`."""
    turn = None if segment.turn is None else segment.turn + 1
    role = role_of(example, segment.turn)
    return [segment.start, segment.stop, turn, role, segment.why.value, segment.loss]


def row_as_json(examined: Examined, inspection: Inspection) -> dict[str, Any]:
    """One line of `pgs inspect --json`."""
    tokens = None
    if examined.rendered is not None:
        tokens = RowTokens(examined, examined.rendered, inspection.limit, inspection.token_bytes)
    return {
        "row": examined.row,
        "file": examined.file,
        "line": examined.line,
        "num_tokens": examined.num_tokens,
        "loss_tokens": tokens.loss_tokens if tokens else 0,
        "truncated": examined.num_tokens > inspection.limit,
        "flags": all_flags(examined),
        "tokens": [tokens.as_json(number) for number in range(len(tokens))] if tokens else [],
    }
