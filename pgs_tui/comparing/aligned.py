"""Runs of other lengths and other speeds, laid over each other along one axis."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from pgs_tui.history.axis import AxisName
from pgs_tui.history.history import History
from pgs_tui.view import Ground, Window
from screens.dashboard.readings.looking import ground_of

ALIGNED: tuple[AxisName, ...] = ("step", "tokens", "time")
"""The axes along which runs are compared: each begins where the run does."""
EVAL = "eval"
"""The loss of the evaluations, as a metric beside those of the steps."""


@dataclass(frozen=True, slots=True)
class CommonGround(Ground):
    """What there is to see of several runs: the steps of the one that reaches farthest, from where the first begins."""

    begin: float = 0.0

    @property
    def whole(self) -> Window:
        """The window on all of them."""
        return self.begin, self.end


def tells(history: History, axis: AxisName) -> bool:
    """Whether the run says where its steps stand on that axis: logs of other tools may know no tokens and no times."""
    positions = history.positions(axis)
    return bool(positions) and (axis == "step" or len(positions) == 1 or positions[-1] > 0)


def farthest(histories: Sequence[History], axis: AxisName) -> History | None:
    """The run that reaches farthest on the axis, None where none of them stands on it."""
    on_it = [one for one in histories if tells(one, axis)]
    return max(on_it, key=lambda one: one.positions(axis)[-1], default=None)


def common_ground(histories: Sequence[History], axis: AxisName) -> CommonGround | None:
    """The ground of the comparison; a live run that grows longer than all others becomes its measure."""
    longest = farthest(histories, axis)
    ground = ground_of(longest, axis) if longest is not None else None
    if ground is None:
        return None
    begin = min(float(one.positions(axis)[0]) for one in histories if tells(one, axis))
    end = max(ground.end, ground.positions[-1])
    return CommonGround(ground.steps, ground.positions, end, begin if axis == "step" else 0.0)


def index_at(history: History, axis: AxisName, position: float) -> int | None:
    """The step that stands nearest to the position; None where the run had not begun, or had ended."""
    if not tells(history, axis):
        return None
    positions = history.positions(axis)
    if not positions[0] <= position <= positions[-1]:
        return None if axis == "step" or position > positions[-1] else 0
    return history.index_near(position, axis)


def value_at(
    history: History, metric: str, axis: AxisName, position: float, alpha: float | None = None
) -> float | None:
    """The metric there, or with `alpha` its average; of evaluations the newest one up to there.

    None where the run does not reach, or where nothing was measured; NaN and infinity count as values.
    """
    index = index_at(history, axis, position)
    if index is None:
        return None
    if metric == EVAL:
        return _evaluation_up_to(history, history.steps[index])
    if alpha:
        return history.table.smoothed(metric, alpha).at(index)
    return history.series[metric].at(index)


def newest(history: History, metric: str, alpha: float | None = None) -> float | None:
    """The newest value of the metric, or of its average; None before there is one."""
    if not history.steps:
        return None
    if metric == EVAL:
        return _evaluation_up_to(history, history.steps[-1])
    if alpha:
        return history.table.smoothed(metric, alpha).last
    return history.series[metric].last


def average_of(metric: str, alpha: float | None) -> float | None:
    """The constant of the average that is drawn of the metric: of all runs alike, however short, so that it compares.

    Evaluations and the learning rate have none.
    """
    return None if metric in (EVAL, "lr") else alpha


def evaluations(history: History, axis: AxisName) -> list[tuple[float, float]]:
    """Position and loss of each evaluation, in order; of several data sets, on the one that was evaluated first."""
    placed = ((history.position_of(step, axis), loss) for step, loss in _evaluated(history))
    return [(position, loss) for position, loss in placed if position is not None]


def _evaluation_up_to(history: History, step: int) -> float | None:
    found = _evaluated(history)
    place = bisect_right(found, step, key=lambda one: one[0])
    return found[place - 1][1] if place else None


def _evaluated(history: History) -> list[tuple[int, float]]:
    first = next(iter(history.evals.names), None)
    return [(one.step, one.loss) for one in history.evals.values() if one.name == first]
