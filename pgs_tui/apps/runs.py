"""The application of `pgs-tui runs`: the list, and what is opened from it, to which Esc comes back."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import ClassVar

from pgs_tui.appearance.look import Look
from pgs_tui.apps.themed import THEME_SHEET, Goodbye, ThemedApp
from pgs_tui.goals import Attach, AttachTo, Compare, ListRuns, Replay
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.where import folder_of
from screens.runs.screen import STYLE_SHEET, RunsScreen


class RunsApp(ThemedApp):
    """Shows its first frame before it looks for a run. What is opened from it is the `next` of its goodbye."""

    CSS_PATH: ClassVar = [THEME_SHEET, STYLE_SHEET]

    def __init__(self, goal: ListRuns, look: Look) -> None:
        super().__init__(look)
        self._goal = goal
        self.runs = RunsScreen(folder_of(goal.folder), look, goal.view, goal.readonly, goal.note)

    def get_default_screen(self) -> RunsScreen:
        """The list is the screen at the bottom."""
        return self.runs

    def on_ready(self) -> None:
        gc.enable()

    @property
    def _back(self) -> ListRuns:
        """The list as it is now."""
        return replace(self._goal, note="", view=self.runs.view)

    def on_runs_screen_leaving(self, message: RunsScreen.Leaving) -> None:
        self.exit(Goodbye())

    def on_runs_screen_chosen(self, message: RunsScreen.Chosen) -> None:
        address = message.row.address
        if message.way == "attach":
            self.exit(Goodbye(next=Attach(address, self._goal.readonly, self._back)))
        elif message.way == "replay":
            self.exit(Goodbye(next=Replay(address, back=self._back)))
        else:
            self._resume(message.row)

    def on_runs_screen_comparing(self, message: RunsScreen.Comparing) -> None:
        self.exit(Goodbye(next=Compare(tuple(row.address for row in message.rows), self._back)))

    def _resume(self, row: RunRow) -> None:
        from engine.rundir import RunDir
        from pgs_tui.runs.launcher import resume
        from pgs_tui.runs.past import past_of
        from pgs_tui.runs.source import LocalRun

        try:
            launched = resume(RunDir(row.path))
        except OSError as error:
            self.runs.say(f"the engine cannot be started: {error.strerror}", "warn")
        else:
            source = LocalRun(launched.run, process=launched.process, past=past_of(launched.run.events))
            self.exit(Goodbye(next=AttachTo(source, back=self._back)))
