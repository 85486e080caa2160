"""All that is known of one step: its values, what is usual for them, what happened there, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from engine.events import Step, StepTime
from engine.incidents import Incidents
from pgs_tui.history.log_lines import LogLines
from pgs_tui.history.mark import ODD, Mark
from pgs_tui.history.marks import Marks
from pgs_tui.history.ranks import median
from pgs_tui.history.series import Series
from pgs_tui.history.step_table import StepTable

USUAL_STEPS = 200
"""Steps before one whose usual values make its baseline."""
MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution, in units of its median absolute deviation."""
FEWEST = 4
"""Values that something can be usual for."""


@dataclass(frozen=True, slots=True)
class Usual:
    """The median of the values before a step, and their spread as a standard deviation, from the median deviation."""

    level: float
    spread: float | None
    """None where it is not known: an alert may tell the level alone."""


@dataclass(frozen=True, slots=True)
class At:
    """A step as the cursor shows it. A value that was not measured is None.

    `usual` has a metric where enough values came before; where an alert of a value far out spoke of the step, its
    baseline is the level, and the deviation that it was judged by the spread.
    `rows`, `line` and `time` stand in the log alone: they are None until it was read, and where the log was replaced.
    """

    step: int
    index: int
    t: float | None
    """When it was told, unix seconds."""
    epoch: float
    tokens: int
    """Trained on up to it, to seven digits."""
    values: Mapping[str, float | None]
    smoothed: Mapping[str, float | None]
    usual: Mapping[str, Usual]
    lr: float | None
    rows: tuple[int, ...] | None
    marks: tuple[Mark, ...]
    line: Step | None = None
    """The whole event."""
    time: StepTime | None = None
    """The parts of this very step, wherever they were told. On a GPU those of the newest step are not known yet."""


def at_step(
    index: int, table: StepTable, marks: Marks, incidents: Incidents, lines: LogLines | None, told_late: bool
) -> At:
    """All that is known of the step at an index; without `lines`, but for what stands in the log alone.

    `told_late` says that what the GPU did in a step is told with the next one.
    """
    step = table.axes.steps[index]
    values = {metric: series.at(index) for metric, series in table.series.items()}
    here = marks.at(step)
    line, following = _lines(index, table, lines, told_late)
    return At(
        step=step,
        index=index,
        t=table.axes.wall(index),
        epoch=float(table.axes.positions("epoch")[index]),
        tokens=_seven_digits(table.axes.positions("tokens")[index]),
        values=values,
        smoothed=table.averages(index),
        usual=_usual(index, table, marks, incidents, here),
        lr=values["lr"],
        rows=line.rows if line else next((mark.rows for mark in here if mark.rows), None),
        marks=here,
        line=line,
        time=own_time(line, following, told_late),
    )


def _lines(index: int, table: StepTable, lines: LogLines | None, told_late: bool) -> tuple[Step | None, Step | None]:
    """The step's own line, and that of the next step where it is needed."""
    if lines is None:
        return None, None

    def read(place: int) -> Step | None:
        line = lines.step(table.offsets[place]) if place < len(table) else None
        return line if line is not None and line.step == table.axes.steps[place] else None

    return read(index), read(index + 1) if told_late else None


def _usual(
    index: int, table: StepTable, marks: Marks, incidents: Incidents, here: tuple[Mark, ...]
) -> dict[str, Usual]:
    first = max(index - USUAL_STEPS, 0)
    steps = table.axes.steps
    odd = marks.odd_steps(steps[first], steps[index])
    left_out = frozenset(place for place in range(first, index) if steps[place] in odd) if odd else frozenset()
    before = {name: usual_before(series, index, left_out) for name, series in table.series.items()}
    usual = {name: one for name, one in before.items() if one is not None}
    for mark in here:
        if mark.kind not in ODD:
            continue  # of a trend the baseline is where it began
        touch = incidents.touch(mark.incident_id, mark.step) if mark.incident_id else None
        if touch is not None and touch.baseline is not None and mark.metric in table.series:
            usual[mark.metric] = Usual(touch.baseline, touch.spread)
    return usual


def usual_before(series: Series, index: int, left_out: frozenset[int]) -> Usual | None:
    """What is usual for a series before an index; `left_out` are indices that say nothing about it, unless all do."""
    first = max(index - USUAL_STEPS, 0)
    finite = [(place, value) for place, value in enumerate(series.values[first:index], first) if isfinite(value)]
    values = [value for place, value in finite if place not in left_out]
    if len(values) < FEWEST <= len(finite):
        values = [value for _, value in finite]
    level = median(values) if len(values) >= FEWEST else None
    if level is None:
        return None
    spread = median([abs(value - level) for value in values])
    return Usual(level, (spread or 0.0) * MAD_TO_SIGMA)


def _seven_digits(tokens: float) -> int:
    """As exactly as float32 knows them."""
    return int(float(f"{tokens:.7g}"))


def own_time(line: Step | None, following: Step | None, told_late: bool) -> StepTime | None:
    """The parts of a step; where those of the GPU are told a step late (`told_late`), from the line of the next one."""
    if line is None or not told_late:
        return line.time if line else None
    late = following.time if following is not None else StepTime()
    return StepTime(
        data=line.time.data,
        forward=late.forward,
        backward=late.backward,
        optimizer=late.optimizer,
        gc=line.time.gc,
    )
