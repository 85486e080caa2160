"""The room that a terminal gives: which panels it usually has room for, and how charts stand in it."""

from __future__ import annotations

from dataclasses import dataclass

from pgs_tui.panel_names import STRIPS, PanelName

THIN = 50
"""Columns below which one chart beside another no longer fits."""
NARROW = 80
"""Columns below which charts stand below each other, where there are rows enough."""
WIDE, HUGE = 120, 200
"""Columns from which more panels are shown."""
_FLAT, _SHORT, _TALL = 12, 20, 32
_HIGH_ENOUGH, _STRIPS = 6, 16
"""Rows of a chart with room for a curve and its labels, and those that everything besides the charts takes."""


@dataclass(frozen=True, slots=True)
class Room:
    """What there is to fill: the terminal's cells, and whether there are several ranks to compare."""

    width: int
    height: int
    several_ranks: bool = False

    def usual(self) -> tuple[PanelName, ...]:
        """The panels that are shown here unless a person wants it otherwise."""
        charts: tuple[PanelName, ...] = ("loss", "grad_norm", "tok_s", "dt")
        if self.width >= WIDE and self.height >= 36:
            charts += ("lr", "moved")
        if self.width >= HUGE and self.height >= 50:
            charts += ("parts", "gpu", "memory_over_steps")
        if self.several_ranks and self.width >= WIDE and self.height >= 36:
            charts += ("ranks",)
        return (*charts, *STRIPS)


@dataclass(frozen=True, slots=True)
class Grid:
    """How charts stand beside and below each other: as many across, and the height of each row in Textual's units."""

    columns: int
    rows: tuple[str, ...]


def grid_of(count: int, room: Room) -> Grid:
    """The grid for so many charts. Low terminals show curves in the first row alone, the lowest in none."""
    columns = min(_across(count, room), max(count, 1))
    rows = -(-count // columns)
    if room.height < _FLAT:
        return Grid(columns, ("1",) * rows)
    if room.height < _SHORT:
        with_curves = 2 if columns == 1 else 1
        return Grid(columns, tuple("1fr" if row < with_curves else "1" for row in range(rows)))
    first, other = ("5fr", "4fr") if room.height >= _TALL else ("3fr", "2fr")
    return Grid(columns, (first, *(other,) * (rows - 1))[:rows])


def _across(count: int, room: Room) -> int:
    stacked = room.width < NARROW and count * _HIGH_ENOUGH <= room.height - _STRIPS
    if room.width < THIN or stacked:
        return 1
    if room.width < WIDE or count <= 4:
        return 2
    return 4 if room.width >= HUGE and count > 9 else 3


def size_classes(width: int, height: int) -> dict[str, bool]:
    """The classes under which the style sheet knows a terminal of this size."""
    return {
        "-thin": width < THIN,
        "-wide": WIDE <= width < HUGE,
        "-huge": width >= HUGE,
        "-flat": height < _FLAT,
        "-short": _FLAT <= height < _SHORT,
        "-middle": _SHORT <= height < _TALL,
        "-tall": height >= _TALL,
    }
