"""What is told of each run of a comparison, and how far it is from the one that all are measured against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from pgs_tui.comparing.aligned import EVAL, average_of, index_at, newest, tells, value_at
from pgs_tui.comparing.compared import Compared
from pgs_tui.format import value, whole
from pgs_tui.history.axis import AxisName
from pgs_tui.history.history import History
from screens.dashboard.readings.wording import WORDINGS, Wording

METRICS: tuple[str, ...] = ("loss", EVAL, "grad_norm", "tok_s", "dt", "lr", "moved", "mem.peak")
"""In the order in which the key for the next one goes through them."""
_EVAL_WORDING = Wording("eval loss", WORDINGS["loss"].words, WORDINGS["loss"].spread)


@dataclass(frozen=True, slots=True)
class Told:
    """One run at a place of the axis, or, without a place, now. `why` says why it has no curve there."""

    value: float | None
    step: int | None
    delta: float | None = None
    """Its value less that of the baseline at the same place."""
    share: float | None = None
    """The same as a share of the baseline's value."""
    at: float | None = None
    """Where the two were compared, if that is not where `value` stands."""
    why: str = ""


def wording_of(metric: str) -> Wording:
    """How a metric is called and written."""
    return _EVAL_WORDING if metric == EVAL else WORDINGS[metric]


def told_of(
    run: Compared, base: Compared, metric: str, axis: AxisName, cursor: float | None, alpha: float | None
) -> Told:
    """What is told of the run: at the cursor, else its newest value, compared where both runs have been."""
    here, there = run.history, base.history
    average = average_of(metric, alpha)
    if not here.steps:
        return Told(None, None, why="no step yet")
    if not tells(here, axis):
        return Told(newest(here, metric, average), here.last_step, why=f"tells no {axis}")
    if cursor is not None:
        index = index_at(here, axis, cursor)
        if index is None:
            return Told(None, None, why=_why_not_at(cursor, run, axis))
        known = value_at(here, metric, axis, cursor, average)
        return Told(known, here.steps[index], *_apart(known, there, metric, axis, cursor, alpha))
    known = newest(here, metric, average)
    place = _last_common(here, there, axis)
    if place is None:
        return Told(known, here.last_step)
    compared_value = value_at(here, metric, axis, place, average)
    apart = _apart(compared_value, there, metric, axis, place, alpha)
    is_now = place >= here.positions(axis)[-1]
    return Told(known, here.last_step, *apart, at=None if is_now else place)


def delta_words(told: Told, metric: str) -> str:
    """`-0.031 (-1.9 %)`: how far the run is from the baseline."""
    return _apart_words(told.delta, told.share, wording_of(metric))


def difference_words(value: float | None, base: float | None, wording: Wording) -> str:
    """The same for a value and that of the baseline; empty where one of them is missing or not finite."""
    return _apart_words(*_difference(value, base), wording)


def step_words(told: Told) -> str:
    """The step whose value is told."""
    return whole(told.step) if told.step is not None else "–"


def best_words(history: History) -> str:
    """The best evaluation and its step."""
    return f"{value(history.best.loss)} @ {whole(history.best.step)}" if history.best is not None else ""


def measured(runs: Sequence[Compared]) -> tuple[str, ...]:
    """The metrics of which one of the runs has a value; the loss in any case."""
    return tuple(one for one in METRICS if one == "loss" or any(_has_values(run.history, one) for run in runs))


def _has_values(history: History, metric: str) -> bool:
    if metric == EVAL:
        return bool(history.evals)
    low, high = history.series[metric].extent(0, len(history.steps))
    return low <= high or bool(history.series[metric].marks)


def _why_not_at(cursor: float, run: Compared, axis: AxisName) -> str:
    if cursor <= run.history.positions(axis)[-1]:
        return "began later"
    return "not there yet" if run.live.going else "ended before"


def _last_common(here: History, there: History, axis: AxisName) -> float | None:
    if not there.steps or not tells(there, axis):
        return None
    return float(min(here.positions(axis)[-1], there.positions(axis)[-1]))


def _apart(
    known: float | None, base: History, metric: str, axis: AxisName, place: float, alpha: float | None
) -> tuple[float | None, float | None]:
    """The difference to the baseline there, and its share of the baseline's value; None where one has none."""
    return _difference(known, value_at(base, metric, axis, place, average_of(metric, alpha)))


def _difference(known: float | None, other: float | None) -> tuple[float | None, float | None]:
    if known is None or other is None or not isfinite(known) or not isfinite(other):
        return None, None
    return known - other, (known - other) / abs(other) if other else None


def _apart_words(delta: float | None, share: float | None, wording: Wording) -> str:
    if delta is None:
        return ""
    sign = "+" if delta > 0 else "-" if delta < 0 else "±"
    percent = f" ({share * 100:+.1f} %)" if share else ""
    return f"{sign}{wording.words(abs(delta))}{percent}"
