"""The list of runs without a screen: as text for people and pipes, or as one line of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from pgs_tui.format import plain
from pgs_tui.listing.as_json import document
from pgs_tui.listing.opening import connect, scan_of
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.sorting import Order, in_order
from pgs_tui.listing.where import FolderNotFoundError, folder_of, told_of
from pgs_tui.listing.words import alerts, best, counted, loss, model, size, started, state, steps, took
from pgs_tui.picking.folders import folder_name

HEADS = ("run", "status", "model", "steps", "loss", "best", "alerts", "size", "time", "started", "tags")
WIDEST = 48
"""Cells of a column; what is longer moves the rest of its own line alone."""
_TO_THE_RIGHT = frozenset({"steps", "loss", "best", "size", "time", "started"})


def print_runs(folder: str | None, out: TextIO, as_json: bool = False) -> int:
    """Print all runs of the folder, the newest first. Returns 0, or 1 without any.

    Raises ValueError for a folder that there is none of, or that cannot be looked at.
    """
    where = folder_of(folder)
    connect(where)
    scan = scan_of(where)
    rows: dict[Path, RunRow] = {}
    try:
        for found in scan.run():
            rows[found.row.path] = found.row
    except OSError as error:
        raise FolderNotFoundError(told_of(error)) from error
    listed = in_order(rows.values(), Order())
    named = folder_name(where) if isinstance(where, Path) else str(where) if where else None
    if as_json:
        print(json.dumps(document(named, listed, scan.tally), ensure_ascii=False, allow_nan=False), file=out)
    else:
        for line in _lines(listed, named, time.time()):
            print(line, file=out)
    out.flush()
    return 0 if listed else 1


def _lines(rows: Sequence[RunRow], folder: str | None, now: float) -> Iterator[str]:
    runs = [row for row in rows if row.is_readable]
    if not runs:
        yield f"there is no run {f'below {plain(folder)}' if folder else 'known here'}; pgs-tui CONFIG trains one"
    else:
        table = [HEADS, *(_cells(row, now) for row in runs)]
        sizes = [min(max(len(cells[place]) for cells in table), WIDEST) for place in range(len(HEADS))]
        for cells in table:
            yield "  ".join(_column(*column) for column in zip(HEADS, cells, sizes, strict=True)).rstrip()
    yield from (f"{plain(row.shown)}: {plain(row.trouble)}" for row in rows if row.trouble)


def _cells(row: RunRow, now: float) -> tuple[str, ...]:
    told = ", ".join(counted(count, severity) for severity, count in alerts(row))
    facts = (
        row.shown,
        state(row)[1],
        model(row),
        steps(row),
        loss(row),
        best(row).strip(),
        told or "-",
        size(row.size),
    )
    return (*map(plain, facts), took(row), started(row, now), plain(" ".join(row.labels.tags)))


def _column(head: str, text: str, cells: int) -> str:
    return text.rjust(cells) if head in _TO_THE_RIGHT else text.ljust(cells)
