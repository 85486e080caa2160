"""In which order runs stand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pgs_tui.listing.row import RunRow
from pgs_tui.listing.words import STATES, model

SortKey = Literal["started", "status", "name", "model", "steps", "loss", "best", "alerts", "size", "time"]
SORT_KEYS: tuple[SortKey, ...] = get_args(SortKey)
_DOWNWARDS: frozenset[SortKey] = frozenset({"started", "steps", "alerts", "size", "time"})
"""Where people want the most first."""
_STATES = tuple(STATES)
_FIRST_AND_LAST: Mapping[SortKey, tuple[str, str]] = {
    "started": ("oldest first", "newest first"),
    "status": ("going first", "going last"),
    "name": ("a to z", "z to a"),
    "model": ("a to z", "z to a"),
    "steps": ("fewest first", "most first"),
    "alerts": ("fewest first", "most first"),
    "size": ("smallest first", "largest first"),
    "time": ("shortest first", "longest first"),
}


@dataclass(frozen=True, slots=True)
class Order:
    """By which column; `turned` is the other way round than people mostly want."""

    key: SortKey = "started"
    turned: bool = False

    @property
    def is_downwards(self) -> bool:
        """Whether the most comes first."""
        return (self.key in _DOWNWARDS) != self.turned

    @property
    def words(self) -> str:
        """What comes first."""
        first, last = _FIRST_AND_LAST.get(self.key, ("lowest first", "highest first"))
        return f"by {self.key}, {last if self.is_downwards else first}"

    @property
    def following(self) -> Order:
        """By the next column."""
        return Order(SORT_KEYS[(SORT_KEYS.index(self.key) + 1) % len(SORT_KEYS)])

    @property
    def backwards(self) -> Order:
        """The other way round."""
        return Order(self.key, not self.turned)


def in_order(rows: Iterable[RunRow], order: Order) -> list[RunRow]:
    """The runs in that order, those without such a fact last, equals by their start and name."""
    fact = _FACTS[order.key]
    steady = sorted(rows, key=lambda row: (-(row.started or 0.0), row.shown))
    known = [row for row in steady if fact(row) is not None]
    unknown = [row for row in steady if fact(row) is None]
    known.sort(key=fact, reverse=order.is_downwards)
    return known + unknown


def _finite(number: float | None) -> float | None:
    """A loss that is no number is worse than any."""
    return math.inf if number is not None and math.isnan(number) else number


def _natural(text: str) -> list[tuple[str, int]] | None:
    """The text so that a9 comes before a10."""
    return [(letters, int(digits or -1)) for letters, digits in re.findall(r"(\D*)([0-9]*)", text.casefold())] or None


def _graveness(row: RunRow) -> tuple[int, int] | None:
    if row.summary is None:
        return None
    return row.summary.count("critical") + row.summary.count("error"), row.summary.alert_count


_FACTS: Mapping[SortKey, Callable[[RunRow], Any]] = {
    "started": lambda row: row.started,
    "status": lambda row: _STATES.index(row.life) if row.life else len(_STATES) if row.tool else None,
    "name": lambda row: _natural(row.name),
    "model": lambda row: _natural(model(row)) if model(row) else None,
    "steps": lambda row: row.summary.step if row.summary else None,
    "loss": lambda row: _finite(row.summary.loss) if row.summary else None,
    "best": lambda row: row.summary.best[1] if row.summary and row.summary.best else None,
    "alerts": _graveness,
    "size": lambda row: row.size,
    "time": lambda row: row.seconds,
}
