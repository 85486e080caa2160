"""Runs become a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.comparing.compared import compared
from pgs_tui.comparing.comparison import Comparison
from pgs_tui.runs.source import Source
from screens.live import LiveRun


def comparison_of(sources: Sequence[Source]) -> Comparison:
    """The comparison of these runs, of which nothing is known yet; the first is what all are measured against."""
    return Comparison(compared([(source.run.id, LiveRun(source)) for source in sources]))
