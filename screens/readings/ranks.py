"""The processes of a run that trains on several GPUs."""

from __future__ import annotations

from pgs_tui.runs.history import History
from pgs_tui.widgets.rank_panel import RanksView


def ranks_of(history: History) -> RanksView:
    """The ranks, none for a run of one process."""
    return RanksView(history.ranks.all())
