"""The time of day by which a run is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgs_tui.runs.source import Source


def played_time_of(source: Source) -> Callable[[], float] | None:
    """The clock of a run that is played, unix seconds; None for one that is shown by the present."""
    from pgs_tui.replaying.replayed_run import ReplayedRun

    return source.now if isinstance(source, ReplayedRun) else None
