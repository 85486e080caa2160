"""A comparison of two configs as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgs_tui.drawing.lines import Line, fit, line, width, wrapped
from pgs_tui.format import plain
from pgs_tui.picking.collection import Entry
from pgs_tui.picking.comparison import Row, compared

NARROWEST_TABLE = 76
"""Cells below which the values of a key stand on a line of their own."""
LABEL_CELLS = (20, 34)
NOTHING = ("", "", "")


def comparison_lines(one: Entry, other: Entry, cells: int) -> list[Line]:
    """The sentence, the effects, the differing keys."""
    comparison = compared(one, other)
    names = ("", plain(one.shown), plain(other.shown))
    rows = [*comparison.effects, NOTHING, *comparison.keys]
    table = _table if cells >= NARROWEST_TABLE else _stacked
    return [*wrapped(comparison.sentence, cells, "value"), (), *table(names, rows, cells)]


def _table(names: Row, rows: Sequence[Row], cells: int) -> Iterator[Line]:
    shortest, longest = LABEL_CELLS
    label = min(max(max(width(row[0]) for row in rows) + 2, shortest), longest)
    value = (cells - label) // 2
    yield line((" " * label, "text"), *fit(line((names[1], "title")), value), (names[2], "title"))
    for name, left, right in rows:
        lefts, rights = wrapped(left, value - 2) or [()], wrapped(right, value - 2) or [()]
        for place in range(max(len(lefts), len(rights))):
            first, second = (side[place] if place < len(side) else () for side in (lefts, rights))
            head = fit(line((name if place == 0 else "", "dim")), label)
            yield (*head, *fit(first, value), *second)


def _stacked(names: Row, rows: Sequence[Row], cells: int) -> Iterator[Line]:
    yield from wrapped(f"{names[1]} → {names[2]}", cells, "title")
    for name, left, right in rows:
        if not name:
            yield ()
            continue
        values = f"{left} → {right}"
        if width(name) + 2 + width(values) <= cells:
            yield line((f"{name}  ", "dim"), (values, "text"))
            continue
        yield line((name, "dim"))
        yield from (line(("  ", "text"), *row) for row in wrapped(values, cells - 2))
