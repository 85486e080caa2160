"""A comparison in words, for paper: one row a run, and one a key in which their configs differ."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.comparing.comparison import Comparison
from pgs_tui.comparing.differences import Differences
from pgs_tui.comparing.table import best_words, delta_words, step_words, wording_of
from pgs_tui.format import plain
from screens.dashboard.readings.looking import position_words

Row = tuple[str, ...]


def run_rows(comparison: Comparison, metric: str) -> tuple[Row, ...]:
    """What is told of each run, under its heads."""
    head = ("", "run", "state", "step", wording_of(metric).name, f"less {comparison.base.sign}", "best eval")
    return head, *(_run_row(comparison, place, metric) for place in range(len(comparison.runs)))


def difference_rows(comparison: Comparison, differences: Differences) -> tuple[Row, ...]:
    """Each differing key with the value in each run, under the runs' signs; none where nothing differs."""
    if not differences.keys:
        return ()
    head = ("key", *(run.sign for run in comparison.runs))
    return head, *((one.key, *(value or "" for value in one.values)) for one in differences.keys)


def difference_words(comparison: Comparison, differences: Differences) -> tuple[str, ...]:
    """What is to be said besides: that nothing differs, and whose config is not known."""
    unread = tuple(f"{comparison.runs[place].sign}: {why}" for place, why in differences.unread)
    nothing = differences.known >= 2 and not differences.keys
    return (*(("their configs have the same effect",) if nothing else ()), *unread)


def padded(rows: Sequence[Row]) -> list[str]:
    """The rows as columns of text."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows]


def _run_row(comparison: Comparison, place: int, metric: str) -> Row:
    run = comparison.runs[place]
    told = comparison.told(run, metric)
    apart = "" if place == comparison.shown.base else delta_words(told, metric)
    at = f" @ {position_words(comparison.view.axis, told.at)}" if apart and told.at is not None else ""
    known = told.why or wording_of(metric).words(told.value)
    return (
        run.sign,
        run.name,
        plain(run.live.status().state),
        step_words(told),
        known,
        f"{apart}{at}",
        best_words(run.history),
    )
