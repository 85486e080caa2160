"""A run reduced to what charts of a given width can show."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from itertools import pairwise
from math import inf

from pgs_tui.history.axis import AxisName, WallStretch
from pgs_tui.history.evals import Evals
from pgs_tui.history.gpu_history import GpuField, GpuHistory
from pgs_tui.history.gpu_reducer import GpuReducer
from pgs_tui.history.mark import Mark
from pgs_tui.history.marks import Marks
from pgs_tui.history.part_reducer import PartColumns, PartReducer
from pgs_tui.history.reducer import Columns, Edges, Reducer
from pgs_tui.history.step_table import StepTable


class Reduced:
    """Every method takes a part [start, end) of an x axis and the number of columns that it falls into."""

    def __init__(self, table: StepTable, evals: Evals, marks: Marks) -> None:
        self._table = table
        self._evals = evals
        self._marks = marks
        self._edges = Edges()
        self._reducers: dict[str, Reducer] = {}
        self._part_reducer = PartReducer(table.parts)
        self._gpu_reducers: dict[tuple[int, GpuField], GpuReducer] = {}
        self._marked: dict[frozenset[str] | None, tuple[tuple[object, ...], tuple[tuple[float, Mark], ...]]] = {}

    def columns(self, metric: str, start: float, end: float, count: int, axis: AxisName) -> Columns:
        """A metric."""
        series = self._table.series[metric]
        return self._reducer(metric).reduce(self._table.axes.positions(axis), series, start, end, count)

    def smooth_columns(
        self, metric: str, alpha: float, start: float, end: float, count: int, axis: AxisName
    ) -> Columns:
        """The average of a metric."""
        smoothed = self._table.smoothed(metric, alpha)
        reducer = self._reducer(f"{metric} smoothed")
        return reducer.reduce(self._table.axes.positions(axis), smoothed, start, end, count)

    def part_columns(self, start: float, end: float, count: int, axis: AxisName) -> PartColumns:
        """Where the seconds of the steps went."""
        axes = self._table.axes
        return self._part_reducer.reduce(axes.positions(axis), axes.steps, start, end, count)

    def gpu_columns(
        self, card: GpuHistory, field: GpuField, start: float, end: float, count: int, axis: AxisName
    ) -> Columns:
        """What a card did: by the time axis when it did it, by the others during which steps."""
        positions = self._table.axes.positions(axis)
        newest = positions[-1] if positions else -inf
        key = (axis, self._table.series["loss"].generation)
        reducer = self._gpu_reducers.setdefault((id(card), field), GpuReducer())
        return reducer.reduce(
            card, field, (start, end, count), newest, key, lambda first: self._times(start, end, count, axis, first)
        )

    def eval_points(self, start: float, end: float, count: int, axis: AxisName) -> tuple[tuple[float, float], ...]:
        """Position and loss of the evaluations, of each column the lowest and the highest, in order."""
        axes, width = self._table.axes, (end - start) / max(count, 1)
        if not axes.steps or width <= 0:
            return ()
        by_column: dict[int, list[tuple[float, float]]] = {}
        for step, loss in self._evals.losses(*self._steps_within(start, end, axis)):
            position = axes.position_of(step, axis)
            if position is not None and start <= position < end:
                by_column.setdefault(int((position - start) / width), []).append((position, loss))
        kept = (_lowest_and_highest(points) for _, points in sorted(by_column.items()))
        return tuple(point for points in kept for point in points)

    def column_marks(
        self, start: float, end: float, count: int, axis: AxisName, metrics: Collection[str] | None
    ) -> tuple[tuple[float, Mark], ...]:
        """Position and the gravest mark of each column that has one."""
        kinds = frozenset(metrics) if metrics is not None else None
        newest, marked = self._table.axes.steps[-1:], self._marks.last_step
        is_ahead = (
            bool(newest) and marked is not None and marked > newest[0]
        )  # it stands at the newest step, which moves
        key = (start, end, count, axis, self._marks.version, newest[0] if is_ahead else None)
        known = self._marked.get(kinds)
        if known is None or known[0] != key:
            found = self._marks.in_columns(self._table.axes, axis, start, end, count, metrics)
            known = self._marked[kinds] = key, found
        return known[1]

    def _reducer(self, name: str) -> Reducer:
        self._edges.generation = self._table.axes.generation
        return self._reducers.setdefault(name, Reducer(self._edges))

    def _steps_within(self, start: float, end: float, axis: AxisName) -> tuple[int, int]:
        """The numbers of the first and the last step there, generously: what came before the first counts to it."""
        steps, positions = self._table.axes.steps, self._table.axes.positions(axis)
        first, last = bisect_left(positions, start), bisect_left(positions, end)
        lowest = steps[first] if 0 < first < len(steps) else -(2**63)
        return lowest, steps[last] if last < len(steps) else 2**63

    def _times(self, start: float, end: float, count: int, axis: AxisName, first: int) -> list[list[WallStretch]]:
        """When each column from the `first` on was, by the wall clock."""
        axes, width = self._table.axes, (end - start) / max(count, 1)
        edges = [start + place * width for place in range(first, count + 1)]
        if axis != "time":
            edges = [self._second_before(edge, axis) for edge in edges]
        return [list(axes.wall_stretches(since, until)) if since < until else [] for since, until in pairwise(edges)]

    def _second_before(self, position: float, axis: AxisName) -> float:
        """The second at which the last step before a position was done; behind the newest step it is open."""
        positions, seconds = self._table.axes.positions(axis), self._table.axes.positions("time")
        place = bisect_left(positions, position)
        if place == 0:
            return -inf
        return inf if place == len(positions) else seconds[place - 1]


def _lowest_and_highest(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    low, high = min(points, key=lambda point: point[1]), max(points, key=lambda point: point[1])
    return sorted({low, high})
