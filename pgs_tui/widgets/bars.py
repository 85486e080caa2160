"""Bars of parts: how a whole is divided, as one line."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from pgs_tui.widgets.lines import Line, Role, Span, line

_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Part:
    """A named share of the whole."""

    name: str
    amount: float
    role: Role


def progress_bar(share: float | None, width: int) -> Line:
    """`━━━━━━╸─────`: how much of the way is done."""
    if width <= 0:
        return ()
    halves = round(min(max(share or 0.0, 0.0), 1.0) * width * 2)
    full, half = divmod(halves, 2)
    done = "━" * full + ("╸" if half else "")
    return line((done, "accent"), ("─" * (width - len(done)), "frame"))


def bar(share: float, width: int) -> str:
    """A bar of `share` of `width` cells, to an eighth of a cell; anything above nothing shows."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(max(eighths, 1 if share > 0 else 0), 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else ""))[:width]


def stacked_bar(parts: tuple[Part, ...], total: float, width: int) -> Line:
    """The parts one after the other, each at least a cell, and the free rest of `total`."""
    spans: list[Span] = []
    left = width
    for part in parts:
        if left <= 0 or not isfinite(part.amount) or part.amount <= 0 or not isfinite(total) or total <= 0:
            continue
        cells = min(max(round(min(part.amount / total, 1.0) * width), 1), left)
        spans.append(("█" * (cells - 1) + "▉", part.role))
        left -= cells
    return (*spans, ("░" * left, "frame")) if left > 0 else tuple(spans)
