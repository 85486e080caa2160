"""What is told of the step under the cursor."""

from __future__ import annotations

from collections.abc import Callable

from pgs_tui.format import percent, plain, rows, seconds, value, whole
from pgs_tui.runs.at_step import At, Usual
from pgs_tui.widgets.cursor_line import CursorReading, Measured
from screens.readings.looking import Looking, position_words

FAR = 6.0
"""Deviations from what is usual beyond which a value stands out."""
LEAST_SPREAD = 1e-3
"""Values that hardly differ have at least this share of themselves as their spread."""

Words = Callable[[float | None], str]
VALUES: tuple[tuple[str, str, Words], ...] = (
    ("loss", "loss", value),
    ("grad_norm", "grad norm", lambda number: value(number, 3)),
    ("dt", "dt", seconds),
    ("tok_s", "tok/s", value),
    ("moved", "moved", percent),
    ("hidden_norm", "hidden grad", lambda number: value(number, 3)),
)
"""Metric, its name, how it is written."""
ROWS_SHOWN = 4


def cursor_reading(looking: Looking, has_batch: bool) -> CursorReading:
    """The step under the cursor with all its values; `has_batch` says that its batch was recorded token by token."""
    at = looking.at
    if at is None:
        return CursorReading()
    return CursorReading((Measured("step", whole(at.step)), *_parts(looking, at)), _leads_to(at, has_batch))


def _parts(looking: Looking, at: At) -> list[Measured]:
    happened = [Measured("", plain(mark.label), warns=mark.severity != "info") for mark in at.marks[:2]]
    measured = [
        _measured(name, at.values[metric], at.usual.get(metric), words)
        for metric, name, words in VALUES
        if at.values.get(metric) is not None
    ]
    parts = [*measured[:3], *happened, *measured[3:4], Measured("lr", value(at.lr, 3)) if at.lr is not None else None]
    parts += [Measured("rows", rows(at.rows, ROWS_SHOWN))] if at.rows else []
    parts += measured[4:]
    parts += [Measured("epoch", f"{at.epoch:.3f}"), Measured("tokens", whole(at.tokens))]
    if looking.view.axis == "time" and looking.cursor is not None:
        parts.append(Measured("after", position_words("time", looking.cursor)))
    return [part for part in parts if part is not None]


def _measured(name: str, number: float | None, usual: Usual | None, words: Words) -> Measured:
    if usual is None:
        return Measured(name, words(number))
    if usual.spread is None:
        return Measured(name, words(number), words(usual.level), warns=True)
    spread = max(usual.spread, abs(usual.level) * LEAST_SPREAD)
    is_far = number is None or not abs(number - usual.level) <= FAR * spread
    return Measured(name, words(number), f"{words(usual.level)} ± {words(usual.spread)}", is_far)


def _leads_to(at: At, has_batch: bool) -> str:
    if has_batch:
        return "its batch, token by token"
    return "its rows" if at.rows else ""
