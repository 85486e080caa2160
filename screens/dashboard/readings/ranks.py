"""The processes of a run that trains on several GPUs."""

from __future__ import annotations

from pgs_tui.history.history import History
from pgs_tui.widgets.rank_panel import RanksView


def ranks_of(history: History) -> RanksView:
    """The ranks, none for a run of one process."""
    ranks = history.ranks.all()
    processes = history.start.world_size if history.start is not None else 1
    if ranks or processes < 2:
        return RanksView(ranks)
    return RanksView(empty=f"{processes} processes train, of which only the first has told of a step")
