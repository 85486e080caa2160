"""Where the time goes, over the stretch that all charts show."""

from __future__ import annotations

from pgs_tui.drawing.plot_frame import Sight
from pgs_tui.format import whole
from pgs_tui.history.axis import AxisName
from pgs_tui.history.history import RECENT_STEPS, History
from pgs_tui.history.part_reducer import PartColumns
from pgs_tui.history.step_parts import BLOCK, PartName
from pgs_tui.widgets.parts_panel import PartsView


def parts_of(history: History, sight: Sight | None, axis: AxisName, cursor: int | None) -> PartsView:
    """The shares by column; in words those of the newest steps, or of those around the step at the cursor."""
    if sight is None or not history.steps:
        return PartsView()
    start, end = sight.axis.start, sight.axis.end

    def columns(count: int) -> PartColumns:
        return history.part_columns(start, end, count, axis)

    index = history.index_near(cursor) if cursor is not None else None
    if index is None:
        first, last = max(len(history.steps) - RECENT_STEPS, 0), len(history.steps)
        words = f"last {whole(last - first)} steps" if last - first > 1 else "first step"
    else:
        first, last = index // BLOCK * BLOCK, min((index // BLOCK + 1) * BLOCK, len(history.steps))
        words = f"around step {whole(history.steps[index])}"
    return PartsView(columns, sight, _shares(history, first, last), words)


def _shares(history: History, first: int, last: int) -> tuple[tuple[PartName, float], ...]:
    """Of the steps at these indices; no part without what was never measured."""
    parts = history.table.parts
    seconds = parts.seconds(history.steps, first, last)
    total = sum(seconds.values())
    if total <= 0:
        return ()
    return tuple((part, amount / total) for part, amount in seconds.items() if amount > 0)
