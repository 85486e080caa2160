"""The steps of a run as CSV: every field of a step, as exactly as the log has it."""

from __future__ import annotations

import csv
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import BinaryIO, TextIO

from engine.events import BadLineError, Step, StepMemory, StepTime, decode
from pgs_tui.runs.history import History
from pgs_tui.runs.log_lines import LONGEST_LINE
from screens.readings.looking import Looking

SO_FAR = ("unix_time", "seconds_so_far", "tokens_so_far")
"""Besides the fields of a step: when it was told, and where it stands on the axes of time and tokens."""
MARKS = "marks"
Cell = str | int | float | None


def _paths() -> Iterator[str]:
    nested: Mapping[str, type] = {"time": StepTime, "mem": StepMemory}
    for field in fields(Step):
        parts = fields(nested[field.name]) if field.name in nested else ()
        yield from (f"{field.name}.{part.name}" for part in parts) if parts else (field.name,)


STEP_FIELDS = tuple(_paths())
HEADER = (STEP_FIELDS[0], *SO_FAR, *STEP_FIELDS[1:], MARKS)


@dataclass(frozen=True, slots=True)
class StepSheet:
    """The steps of a window as they stand now; `write` may be called from any thread.

    `kept` are the values that are known without the log, for lines that cannot be read back.
    """

    log: Path
    steps: array[int]
    times: tuple[float | None, ...]
    seconds: array[int] | array[float]
    tokens: array[int] | array[float]
    offsets: tuple[int, ...]
    kept: Mapping[str, tuple[Cell, ...]]
    marks: Mapping[int, str]

    def write(self, file: TextIO) -> None:
        """Write header and rows. Raises OSError."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        try:
            with self.log.open("rb") as log:
                writer.writerows(self._row(place, log) for place in range(len(self.steps)))
        except FileNotFoundError:
            writer.writerows(self._row(place, None) for place in range(len(self.steps)))

    def _row(self, place: int, log: BinaryIO | None) -> list[str]:
        number = self.steps[place]
        line = _step_at(log, self.offsets[place]) if log is not None else None
        told = dict(_cells(line)) if line is not None and line.step == number else self._kept(place)
        so_far = (self.times[place], float(self.seconds[place]), int(self.tokens[place]))
        cells = (number, *so_far, *(told.get(name) for name in STEP_FIELDS[1:]), self.marks.get(number))
        return [_as_text(cell) for cell in cells]

    def _kept(self, place: int) -> dict[str, Cell]:
        return {name: values[place] for name, values in self.kept.items()}


def sheet_of(history: History, looking: Looking, log: Path) -> StepSheet:
    """The steps that are looked at, all of them with the whole run in sight."""
    first, last = _seen(looking)
    places = range(first, last)
    table = history.table
    return StepSheet(
        log=log,
        steps=table.axes.steps[first:last],
        times=tuple(table.axes.wall(place) for place in places),
        seconds=table.axes.positions("time")[first:last],
        tokens=table.axes.positions("tokens")[first:last],
        offsets=tuple(table.offsets[place] for place in places),
        kept={name: tuple(series.at(place) for place in places) for name, series in table.series.items()},
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


def _step_at(log: BinaryIO, offset: int) -> Step | None:
    if offset < 0:
        return None
    log.seek(offset)
    try:
        stamped = decode(log.readline(LONGEST_LINE))
    except (BadLineError, UnicodeDecodeError):
        return None
    return stamped.event if stamped is not None and isinstance(stamped.event, Step) else None


def _cells(step: Step) -> Iterator[tuple[str, Cell]]:
    for field in fields(step):
        told = getattr(step, field.name)
        if is_dataclass(told):
            yield from ((f"{field.name}.{part.name}", getattr(told, part.name)) for part in fields(told))
        elif isinstance(told, tuple):
            yield field.name, " ".join(map(str, told))
        else:
            yield field.name, told


def _as_text(cell: Cell) -> str:
    """Digits that read back as the same number; nothing for what was not measured; NaN and inf by name."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return repr(cell) if isfinite(cell) else "NaN" if cell != cell else f"{cell}"
    return str(cell)
