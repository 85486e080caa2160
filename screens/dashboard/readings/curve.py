"""A metric as the curve of a chart: the part of it that is looked at, with what is marked on it and the cursor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from pgs_tui.drawing.curves import ChartMark, Curves, Other
from pgs_tui.format import plain
from pgs_tui.history.axis import AxisName
from pgs_tui.history.history import History
from pgs_tui.history.mark import Mark
from screens.dashboard.readings.looking import Looking, label_of


def curve_of(
    history: History,
    looking: Looking,
    metric: str,
    marked: Collection[str],
    smooth: bool = True,
    reference: float | None = None,
) -> Callable[[int], Curves] | None:
    """Reduces the metric to a number of columns; None before the first step.

    `marked` are the fields of a step whose marks belong to this chart, besides those that belong to all charts.
    """
    window = looking.window
    if window is None:
        return None
    (start, end), axis = window, looking.view.axis
    alpha = looking.alpha if smooth else None

    def reduced(columns: int) -> Curves:
        raw = history.columns(metric, start, end, columns, axis)
        marks = _marks(history.column_marks(start, end, columns, axis, marked))
        return Curves(
            raw=raw,
            smooth=history.smooth_columns(metric, alpha, start, end, columns, axis) if alpha else None,
            points=history.eval_points(start, end, columns, axis) if metric == "loss" else (),
            marks=_with_the_best(marks, history, axis) if metric == "loss" else marks,
            cursor=looking.cursor,
            reference=reference,
            labels=label_of(axis, (start, end)),
            others=_baseline(looking, metric, columns, alpha),
        )

    return reduced


def _baseline(looking: Looking, metric: str, columns: int, alpha: float | None) -> tuple[Other, ...]:
    if looking.baseline is None:
        return ()
    from screens.dashboard.readings.baseline import baseline_curves  # most charts have none

    return baseline_curves(looking, metric, columns, alpha)


def _marks(found: Iterable[tuple[float, Mark]]) -> tuple[ChartMark, ...]:
    return tuple(ChartMark(x, mark.kind, mark.severity, plain(mark.label)) for x, mark in found)


def _with_the_best(marks: tuple[ChartMark, ...], history: History, axis: AxisName) -> tuple[ChartMark, ...]:
    """The best evaluation has a sign at its value, whatever graver happened in the same column."""
    place = history.position_of(history.best.step, axis) if history.best is not None else None
    if place is None or any(mark.kind == "best" for mark in marks):
        return marks
    return (*marks, ChartMark(place, "best"))
