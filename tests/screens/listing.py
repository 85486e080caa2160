"""The list of runs in a terminal of any size, over real folders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from pgs_tui.appearance.look import Look
from pgs_tui.apps.runs import RunsApp
from pgs_tui.apps.themed import Goodbye
from pgs_tui.drawing.lines import text_of
from pgs_tui.goals import ListRuns
from screens.runs.screen import RunsScreen
from tests.screens.inspecting import until

__all__ = ["listed", "texts", "until"]


def texts(screen: RunsScreen) -> dict[str, str]:
    """The text of everything on the screen, by id."""
    return {str(one.id): "\n".join(text_of(row) for row in one.lines) for one in screen.drawn if one.display}


@asynccontextmanager
async def listed(
    folder: Path | str | None,
    size: tuple[int, int] = (120, 36),
    look: Look | None = None,
    goal: ListRuns | None = None,
    settled: bool = True,
) -> AsyncIterator[tuple[RunsScreen, Pilot[Goodbye]]]:
    app = RunsApp(goal or ListRuns(None if folder is None else str(folder)), look or Look())
    async with app.run_test(size=size) as pilot:
        if settled:
            await until(pilot, lambda: app.runs.listing.searched)
            await pilot.pause()
        yield app.runs, pilot
