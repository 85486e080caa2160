"""The readings of a run's GPUs as CSV: a row for each reading of each card, as exactly as the log has it."""

from __future__ import annotations

import csv
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import BinaryIO, TextIO

from engine.events import BadLineError, Gpu, decode
from pgs_tui.export.cells import Cell, cell
from pgs_tui.history.axis import Axes
from pgs_tui.history.history import History
from pgs_tui.history.log_lines import LONGEST_LINE
from screens.dashboard.readings.looking import Looking

READING = tuple(field.name for field in fields(Gpu))
HEADER = ("unix_time", "step", *READING)
_SIGN = b'"gpu"'
"""Stands in the line of every reading, and hardly in another."""


@dataclass(frozen=True, slots=True)
class GpuSheet:
    """The readings told while the steps at the places from `first` to `last - 1` were trained; without both, all.

    `write` may be called from any thread, `axes` are a copy. A reading's step is the newest one that was told before.
    """

    log: Path
    axes: Axes
    first: int | None
    last: int | None

    def write(self, file: TextIO) -> None:
        """Write header and rows. Raises OSError."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        told = _ascending(self.axes.wall(place) for place in range(len(self.axes)))
        begin = told[self.first - 1] if self.first else -inf
        end = inf if self.last is None or self.last >= len(told) else told[self.last - 1] if self.last else -inf
        try:
            with self.log.open("rb") as log:
                for t, reading in _readings(log):
                    if begin < t <= end:
                        place = bisect_right(told, t) - 1
                        writer.writerow((t, self.axes.steps[place] if place >= 0 else None, *reading))
        except FileNotFoundError:
            return


def gpu_sheet_of(history: History, looking: Looking, log: Path) -> GpuSheet:
    """The readings of what is looked at; of the whole run also those before its first step and after its last."""
    first = last = None
    if looking.ground is not None and looking.window is not None and looking.view.window is not None:
        first, last = (bisect_left(looking.ground.positions, edge) for edge in looking.window)
    return GpuSheet(log, deepcopy(history.table.axes), first, last)


def _readings(log: BinaryIO) -> Iterator[tuple[float, tuple[Cell, ...]]]:
    """When each was told, and the values of READING."""
    while line := log.readline(LONGEST_LINE):
        if _SIGN not in line or not line.endswith(b"\n"):
            continue
        try:
            stamped = decode(line)
        except (BadLineError, UnicodeDecodeError):
            continue
        if stamped is not None and isinstance(stamped.event, Gpu):
            yield stamped.t, tuple(cell(getattr(stamped.event, name)) for name in READING)


def _ascending(times: Iterator[float | None]) -> list[float]:
    """A clock that was set back stands still, as it does on the dashboard."""
    found, newest = [], -inf
    for t in times:
        newest = newest if t is None else max(newest, t)
        found.append(newest)
    return found
