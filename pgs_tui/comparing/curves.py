"""A metric of several runs as the curves of one chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isfinite

from pgs_tui.comparing.aligned import EVAL, average_of, evaluations, tells
from pgs_tui.comparing.compared import Compared
from pgs_tui.drawing.curves import Curves, Other
from pgs_tui.history.axis import AxisName
from pgs_tui.history.history import History
from pgs_tui.history.series import Columns
from pgs_tui.view import Window
from screens.dashboard.readings.looking import label_of


def curves_of(
    runs: Sequence[Compared],
    metric: str,
    axis: AxisName,
    window: Window,
    alpha: float | None = None,
    cursor: float | None = None,
) -> Callable[[int], Curves]:
    """Reduces the metric of each run to a number of columns; the first of the runs is drawn over all others."""
    start, end = window

    def reduced(columns: int) -> Curves:
        others = tuple(
            Other(columns_of(run.history, metric, axis, window, columns, alpha), run.role, run.name, run.sign)
            for run in reversed(runs)
            if tells(run.history, axis)
        )
        return Curves(no_columns(start, end, columns), others=others, cursor=cursor, labels=label_of(axis, window))

    return reduced


def columns_of(
    history: History, metric: str, axis: AxisName, window: Window, count: int, alpha: float | None = None
) -> Columns:
    """The metric of one run, or its average, in the part of the axis that is seen."""
    if metric == EVAL:
        return _columns_of_points(evaluations(history, axis), window, count)
    average = average_of(metric, alpha)
    if not average:
        return history.columns(metric, *window, count, axis)
    smooth = history.smooth_columns(metric, average, *window, count, axis)
    if not history.series[metric].marks:
        return smooth
    raw = history.columns(metric, *window, count, axis)
    return replace(smooth, marks=raw.marks)  # an average passes over what is not finite


def no_columns(start: float, end: float, count: int) -> Columns:
    """Columns without a value."""
    return Columns(start, end, (inf,) * count, (-inf,) * count, frozenset())


def _columns_of_points(points: Sequence[tuple[float, float]], window: Window, count: int) -> Columns:
    start, end = window
    low, high, marks = [inf] * count, [-inf] * count, set()
    for position, value in points:
        if not start <= position < end:
            continue
        column = min(int((position - start) / (end - start) * count), count - 1)
        if isfinite(value):
            low[column], high[column] = min(low[column], value), max(high[column], value)
        else:
            marks.add(column)
    return Columns(start, end, tuple(low), tuple(high), frozenset(marks))
