"""Bars of parts: how a whole is divided, as one line."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from pgs_tui.drawing.lines import Line, Role, Span, line, line_width

MARK = "◆"
"""Stands in a bar where something was expected to end."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Part:
    """A named share of the whole."""

    name: str
    amount: float
    role: Role
    letter: str = ""
    """Stands for it where colours do not tell; its initial unless another one is given."""

    @property
    def sign(self) -> str:
        """Its letter."""
        return self.letter or self.name[:1].upper() or "?"


def progress_bar(share: float | None, width: int) -> Line:
    """`━━━━━━╸─────`: how much of the way is done."""
    if width <= 0:
        return ()
    halves = round(min(max(share or 0.0, 0.0), 1.0) * width * 2)
    full, half = divmod(halves, 2)
    done = "━" * full + ("╸" if half else "")
    return line((done, "accent"), ("─" * (width - len(done)), "frame"))


def bar(share: float, width: int) -> str:
    """A bar of `share` of `width` cells, to an eighth of a cell; anything above nothing shows. None of NaN."""
    if share != share:
        return ""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(max(eighths, 1 if share > 0 else 0), 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else ""))[:width]


def stacked_bar(parts: tuple[Part, ...], total: float, width: int, lettered: bool = False) -> Line:
    """The parts one after the other, each at least a cell, and the free rest of `total`. `lettered`: as letters."""
    spans: list[Span] = []
    left = width
    for part in parts:
        if left <= 0 or not isfinite(part.amount) or part.amount <= 0 or not isfinite(total) or total <= 0:
            continue
        cells = min(max(round(min(part.amount / total, 1.0) * width), 1), left)
        spans.append((part.sign * cells if lettered else "█" * (cells - 1) + "▉", part.role))
        left -= cells
    return (*spans, ("░" * left, "frame")) if left > 0 else tuple(spans)


def with_mark(bar_line: Line, share: float, role: Role = "value") -> Line:
    """The bar with a mark in the cell in which `share` of it ends; nothing is marked by a share that is not finite."""
    cells = line_width(bar_line)
    if not cells or not isfinite(share) or share < 0:
        return bar_line
    place = min(max(round(share * cells) - 1, 0), cells - 1)
    spans: list[Span] = []
    begin = 0
    for text, kind in bar_line:
        end = begin + len(text)
        if begin <= place < end:
            spans += line((text[: place - begin], kind), (MARK, role), (text[place - begin + 1 :], kind))
        else:
            spans.append((text, kind))
        begin = end
    return tuple(spans)


def scaled_bar(parts: tuple[Part, ...], total: float, width: int) -> Line:
    """The same true to scale: every border where it belongs, to a cell, so that small parts may not show at all."""
    spans: list[Span] = []
    reached, drawn = 0.0, 0
    for part in parts:
        if not isfinite(part.amount) or part.amount <= 0 or not isfinite(total) or total <= 0:
            continue
        reached += part.amount
        cells = min(round(reached / total * width), width) - drawn
        if cells > 0:
            spans.append(("█" * (cells - 1) + "▉", part.role))
            drawn += cells
    return (*spans, ("░" * (width - drawn), "frame")) if drawn < width else tuple(spans)
