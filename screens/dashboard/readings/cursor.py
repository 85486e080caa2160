"""What is told of the step under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.events import Step
from engine.events.rates import rates_of
from pgs_tui.format import duration, plain, rows, seconds, value, whole
from pgs_tui.history.at_step import At, Usual
from pgs_tui.widgets.cursor_line import CursorReading, Measured
from screens.dashboard.readings.looking import Looking
from screens.dashboard.readings.wording import WORDINGS

FAR = 6.0
"""Deviations from what is usual beyond which a value stands out."""
LEAST_SPREAD = 1e-3
"""Values that hardly differ have at least this share of themselves as their spread."""

FIRST = ("loss", "grad_norm", "dt")
THEN = ("tok_s", "moved", "mem.peak")
LAST = ("hidden_norm",)
"""Metrics in the order in which they matter."""
PARTS = (("data", "data"), ("forward", "fwd"), ("backward", "bwd"), ("optimizer", "opt"))
"""Parts of a step's time, and how they are called."""
ROWS_SHOWN = 4


def cursor_reading(looking: Looking, has_batch: bool, from_baseline: str = "") -> CursorReading:
    """The step under the cursor with all its values; `has_batch` says that its batch was recorded token by token.

    `from_baseline` is how far its loss is from that of the run below the curves.
    """
    at = looking.at
    if at is None:
        return CursorReading()
    first = (Measured("step", whole(at.step)), *([Measured("less b", from_baseline)] if from_baseline else []))
    return CursorReading((*first, *_parts(at)), _more(looking, at), _leads_to(at, has_batch))


def _parts(at: At) -> list[Measured]:
    happened = [Measured("", plain(mark.label), warns=mark.severity != "info") for mark in at.marks[:1]]
    known = [Measured("lr", value(at.lr, 3))] if at.lr is not None else []
    known += [Measured("rows", rows(at.rows, ROWS_SHOWN))] if at.rows else []
    return [*_measured(at, FIRST), *happened, *known, *_measured(at, THEN)]


def _more(looking: Looking, at: At) -> tuple[Measured, ...]:
    parts = [*_measured(at, LAST), Measured("epoch", f"{at.epoch:.3f}"), Measured("tokens", whole(at.tokens))]
    if at.time is not None:
        told = ((name, getattr(at.time, field)) for field, name in PARTS)
        parts[:0] = [Measured(name, seconds(spent)) for name, spent in told if spent is not None]
    if at.line is not None:
        parts += _of_line(at.line)
    if looking.view.axis == "time" and looking.cursor is not None:
        parts.insert(0, Measured("after", duration(looking.cursor)))
    return tuple(parts)


def _of_line(step: Step) -> Iterator[Measured]:
    """What has to be known to compare its tokens a second and its gradient norm with others."""
    if (rates := rates_of(step)) is not None:
        yield Measured("padding", f"{100 * rates.padding:.3g} %")
    if step.clip_scale is not None and step.clip_scale < 1:
        yield Measured("clipped to", value(step.clip_scale, 3))


def _measured(at: At, metrics: Iterable[str]) -> list[Measured]:
    known = ((metric, at.values.get(metric)) for metric in metrics)
    return [_of(metric, number, at.usual.get(metric)) for metric, number in known if number is not None]


def _of(metric: str, number: float, usual: Usual | None) -> Measured:
    wording = WORDINGS[metric]
    if usual is None:
        return Measured(wording.name, wording.words(number))
    spread = max(usual.spread or 0.0, abs(usual.level) * LEAST_SPREAD)
    is_far = usual.spread is None or not abs(number - usual.level) <= FAR * spread
    return Measured(wording.name, wording.words(number), wording.usual(usual), is_far)


def _leads_to(at: At, has_batch: bool) -> str:
    if has_batch:
        return "its batch, token by token"
    return "its rows" if at.rows else ""
