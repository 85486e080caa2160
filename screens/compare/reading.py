"""What the panes of a comparison show."""

from __future__ import annotations

from pgs_tui.comparing.compared import Compared
from pgs_tui.comparing.comparison import Comparison
from pgs_tui.comparing.table import Told, best_words, delta_words, step_words, wording_of
from pgs_tui.drawing.lines import Role
from pgs_tui.format import plain
from pgs_tui.widgets.chart_panel import ChartView
from pgs_tui.widgets.run_table import Cell, RunRow
from pgs_tui.widgets.status_line import Status
from screens.dashboard.readings.looking import AXIS_WORDS, position_words

LOWER_IS_BETTER = frozenset({"loss", "eval", "dt", "mem.peak"})
HIGHER_IS_BETTER = frozenset({"tok_s"})


def chart_of(comparison: Comparison, metric: str) -> ChartView:
    """The chart of a metric; its value is that of the run in front."""
    shown, drawn = comparison.shown, comparison.drawn
    is_averaged = comparison.is_averaged(metric)
    run = comparison.runs[shown.front]
    known = wording_of(metric).words(comparison.told(run, metric).value)
    has_steps = any(run.history.steps for run in drawn)
    return ChartView(
        curves=comparison.curves(metric),
        value=f"{run.sign}: {known}",
        note=f"ema {shown.alpha}" if is_averaged else "raw",
        short_note=f"ema {shown.alpha:g}".replace("0.", ".") if is_averaged else "",
        summary=_names(comparison),
        empty=f"none of them tells {AXIS_WORDS[comparison.view.axis]}" if has_steps else "no step yet",
    )


def heads_of(comparison: Comparison) -> tuple[str, ...]:
    """What stands over the columns, what matters most first."""
    metric = wording_of(comparison.shown.metric).name
    return metric, f"less {comparison.base.sign}", "step", "state", "best eval"


def row_of(comparison: Comparison, place: int) -> RunRow:
    """A run's line."""
    run, metric = comparison.runs[place], comparison.shown.metric
    told, is_base = comparison.told(run, metric), place == comparison.shown.base
    cells = (
        Cell(told.why or wording_of(metric).words(told.value), "dim" if told.why else "value"),
        Cell("" if is_base else _delta(comparison, told), _delta_role(metric, told)),
        Cell(step_words(told)),
        _state(run),
        Cell(best_words(run.history)),
    )
    return RunRow(run.sign, run.role, run.name, cells, place not in comparison.shown.hidden, is_base)


def place_words(comparison: Comparison) -> str:
    """At which place the runs are read."""
    cursor, axis = comparison.cursor, comparison.view.axis
    if cursor is None:
        return "newest values"
    words = position_words(axis, cursor)
    return f"at step {words}" if axis == "step" else f"after {words}{' tokens' if axis == 'tokens' else ''}"


def status_of(comparison: Comparison) -> Status:
    """The first line."""
    sign, state, role = _progress(comparison)
    part = "a part of them, " if comparison.view.window is not None else ""
    axis = comparison.view.axis
    return Status(f"{len(comparison.runs)} runs", state, sign, role, seen=f"{part}by {axis}")


def _progress(comparison: Comparison) -> tuple[str, str, Role]:
    if comparison.loading:
        return "◐", f"reading {comparison.loading} of {len(comparison.runs)} logs", "accent"
    going = sum(run.live.going for run in comparison.runs)
    return ("●", f"{going} of them going", "good") if going else ("■", "all are over", "dim")


def _names(comparison: Comparison) -> tuple[str, ...]:
    runs = sorted(comparison.drawn, key=lambda run: run.sign)
    return " · ".join(f"{run.sign} {run.name}" for run in runs), " ".join(run.sign for run in runs)


def _delta(comparison: Comparison, told: Told) -> str:
    words = delta_words(told, comparison.shown.metric)
    if not words or told.at is None:
        return words
    return f"{words} @ {position_words(comparison.view.axis, told.at)}"


def _delta_role(metric: str, told: Told) -> Role:
    if not told.delta or metric not in LOWER_IS_BETTER | HIGHER_IS_BETTER:
        return "text"
    return "good" if (told.delta < 0) == (metric in LOWER_IS_BETTER) else "warn"


def _state(run: Compared) -> Cell:
    status = run.live.status()
    return Cell(f"{status.sign} {plain(status.state)}", status.role)
