"""The steps of a run as CSV: every field of a step, as exactly as the log has it."""

from __future__ import annotations

import csv
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, TextIO

from engine.events import BadLineError, Step, StepMemory, StepTime, decode
from pgs_tui.export.cells import Cell, cell
from pgs_tui.history.axis import Axes
from pgs_tui.history.history import History
from pgs_tui.history.log_lines import LONGEST_LINE
from pgs_tui.history.offsets import Offsets
from pgs_tui.history.series import Series
from screens.dashboard.readings.looking import Looking

SO_FAR = ("unix_time", "seconds_so_far", "tokens_so_far")
"""Besides the fields of a step: when it was told, and where it stands on the axes of time and tokens."""
MARKS = "marks"


def _paths() -> Iterator[str]:
    nested: Mapping[str, type] = {"time": StepTime, "mem": StepMemory}
    for field in fields(Step):
        parts = fields(nested[field.name]) if field.name in nested else ()
        yield from (f"{field.name}.{part.name}" for part in parts) if parts else (field.name,)


STEP_FIELDS = tuple(_paths())
VALUES = STEP_FIELDS[1:]
HEADER = (STEP_FIELDS[0], *SO_FAR, *VALUES, MARKS)
_READ = attrgetter(*VALUES)


@dataclass(frozen=True, slots=True)
class StepSheet:
    """The steps at the places from `first` to `last - 1` as they stand now; `write` may be called from any thread.

    `series` are the values that are known without the log, for lines that cannot be read back. All are copies.
    """

    log: Path
    first: int
    last: int
    axes: Axes
    offsets: Offsets
    series: Mapping[str, Series]
    marks: Mapping[int, str]

    def write(self, file: TextIO) -> None:
        """Write header and rows. Raises OSError."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        places = range(self.first, self.last)
        try:
            with self.log.open("rb") as log:
                writer.writerows(self._row(place, log) for place in places)
        except FileNotFoundError:
            writer.writerows(self._row(place, None) for place in places)

    def _row(self, place: int, log: BinaryIO | None) -> tuple[Cell, ...]:
        number = self.axes.steps[place]
        told = _told_at(log, self.offsets[place]) if log is not None else None
        t: float | None
        if told is not None and told[1].step == number:
            t, values = told[0], _values_of(told[1])
        else:
            t, values = self.axes.wall(place), tuple(self._kept(name, place) for name in VALUES)
        seconds, tokens = self.axes.positions("time")[place], self.axes.positions("tokens")[place]
        return (number, t, float(seconds), int(tokens), *values, self.marks.get(number))

    def _kept(self, name: str, place: int) -> float | None:
        return self.series[name].at(place) if name in self.series else None


def sheet_of(history: History, looking: Looking, log: Path) -> StepSheet:
    """The steps that are looked at, all of them with the whole run in sight; at a million steps some 20 ms."""
    first, last = _seen(looking)
    table = history.table
    return StepSheet(
        log=log,
        first=first,
        last=last,
        axes=deepcopy(table.axes),
        offsets=deepcopy(table.offsets),
        series=deepcopy(table.series),
        marks=_marks(history, table.axes.steps[first], table.axes.steps[last - 1]) if last > first else {},
    )


def _seen(looking: Looking) -> tuple[int, int]:
    """First index and last + 1 of the steps in the window."""
    if looking.ground is None or looking.window is None:
        return 0, 0
    start, end = looking.window
    positions = looking.ground.positions
    return bisect_left(positions, start), bisect_left(positions, end)


def _marks(history: History, first: int, last: int) -> dict[int, str]:
    found: dict[int, str] = {}
    mark = history.marks.after(first - 1)
    while mark is not None and mark.step <= last:
        found[mark.step] = "; ".join(one.label for one in history.marks.at(mark.step))
        mark = history.marks.after(mark.step)
    return found


def _told_at(log: BinaryIO, offset: int) -> tuple[float, Step] | None:
    """The step whose line begins there, and when it was told."""
    if offset < 0:
        return None
    log.seek(offset)
    try:
        stamped = decode(log.readline(LONGEST_LINE))
    except (BadLineError, UnicodeDecodeError):
        return None
    return (stamped.t, stamped.event) if stamped is not None and isinstance(stamped.event, Step) else None


def _values_of(step: Step) -> tuple[Cell, ...]:
    """Each of VALUES."""
    return tuple(cell(value) for value in _READ(step))
