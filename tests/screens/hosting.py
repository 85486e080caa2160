"""A dashboard in a terminal of any size, fed by the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from engine.rundir import RunDir
from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import Goodbye, PgsApp
from pgs_tui.drawing.lines import text_of
from pgs_tui.goals import AttachTo
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from screens.dashboard.live import LiveRun
from screens.dashboard.screen import DashboardScreen


class Host(PgsApp):
    """The application, with a run that only the test knows; `goal` says how it is looked at."""

    def __init__(self, goal: AttachTo, look: Look, now: float) -> None:
        super().__init__(goal, look)
        self.now = now
        self.live = LiveRun(goal.source, lambda: self.now, goal.readonly)

    def open(self) -> None:
        self.dashboard.live = self.live

    async def deliver(self, pilot: Pilot[Goodbye], update: Update) -> None:
        """Let the update arrive as from the following thread, and draw it."""
        self.dashboard.post_message(DashboardScreen.Arrived(update))
        await pilot.pause()
        self.dashboard.show_now()
        await pilot.pause()

    @property
    def texts(self) -> dict[str, str]:
        """The text of everything on the dashboard, by id."""
        return {
            str(one.id): "\n".join(text_of(row) for row in one.lines) for one in self.dashboard.drawn if one.display
        }


@asynccontextmanager
async def hosted(
    path: Path,
    size: tuple[int, int] = (120, 36),
    name: str = "quickstart",
    look: Look | None = None,
    now: float = 1000.0,
    goal: AttachTo | None = None,
) -> AsyncIterator[tuple[Host, Pilot[Goodbye]]]:
    """A dashboard of a run whose folder is `path`, or of another `goal`."""
    app = Host(goal or AttachTo(LocalRun(RunDir(path), name)), look or Look(), now)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def screen_text(app: PgsApp) -> list[str]:
    """What the terminal shows, line by line."""
    height = app.size.height
    shown = app.screen._compositor.render_strips()
    return [strip.text for strip in shown[:height]]
