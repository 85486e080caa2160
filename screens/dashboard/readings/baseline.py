"""What is shown of the run below the curves: its curve, and how far the live run is from it."""

from __future__ import annotations

from pgs_tui.comparing.aligned import average_of, tells, value_at
from pgs_tui.comparing.baseline import SIGN
from pgs_tui.comparing.curves import columns_of
from pgs_tui.comparing.table import difference_words
from pgs_tui.drawing.curves import Other
from pgs_tui.drawing.lines import Role
from pgs_tui.format import plain
from pgs_tui.history.history import History
from screens.dashboard.readings.looking import Looking
from screens.dashboard.readings.wording import WORDINGS

ROLE: Role = "series-8"


def baseline_curves(looking: Looking, metric: str, columns: int, alpha: float | None) -> tuple[Other, ...]:
    """The baseline's curve of the metric in the part that is looked at; none without one."""
    base, window, axis = looking.baseline, looking.window, looking.view.axis
    if base is None or window is None or not tells(base.history, axis):
        return ()
    found = columns_of(base.history, metric, axis, window, columns, alpha)
    return (Other(found, ROLE, base.name, SIGN),)


def from_baseline(history: History, looking: Looking, metric: str) -> str:
    """`-0.031 (-1.9 %)`: the run less its baseline, at the cursor or else at the run's newest step.

    Averages are compared where they are drawn. Empty where one of the runs has no value there.
    """
    base, ground, axis = looking.baseline, looking.ground, looking.view.axis
    if base is None or ground is None:
        return ""
    place = looking.cursor if looking.cursor is not None else float(ground.newest)
    own, other = (
        value_at(one, metric, axis, place, average_of(metric, looking.alpha)) for one in (history, base.history)
    )
    return difference_words(own, other, WORDINGS[metric])


def baseline_words(history: History, looking: Looking) -> tuple[str, ...]:
    """The baseline's name and how far the loss is from it, in shorter and shorter words; none without one."""
    base = looking.baseline
    if base is None:
        return ()
    apart, axis = from_baseline(history, looking, "loss"), looking.view.axis
    if apart:
        return f"{SIGN} {plain(base.name)}: {apart}", f"less {SIGN} {apart}"
    why_not = "ended before" if tells(base.history, axis) else f"tells no {axis}"
    return f"{SIGN} {plain(base.name)} {why_not}", f"{SIGN} {why_not}"
