"""A run that is over, below the curves of the live one: chosen once, and there again the next time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from screens.dashboard.showing import DashboardShowing

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.comparing.baseline import Baseline, Candidate
    from pgs_tui.runs.follow import Follower
    from screens.dashboard.live import LiveRun

NONE = ""
"""Stands for no baseline among the choices."""
LOOK_SECONDS = 1.0
"""How often it is looked whether the run itself has been read: its baseline waits until then."""


class DashboardBaseline(DashboardShowing):
    """The key that chooses the baseline; whatever reads logs does so in a thread."""

    class Candidates(Message, namespace="dashboard_screen"):
        """The runs that can be chosen."""

        def __init__(self, found: Sequence[Candidate]) -> None:
            super().__init__()
            self.found = found

    class BaselineRead(Message, namespace="dashboard_screen"):
        """A baseline stands, or why not. `is_asked` says that somebody has just chosen it."""

        def __init__(self, baseline: Baseline | None, why_not: str, is_asked: bool) -> None:
            super().__init__()
            self.baseline = baseline
            self.why_not = why_not
            self.is_asked = is_asked

    def follow(self, live: LiveRun, follower: Follower) -> None:
        super().follow(live, follower)
        self.set_timer(LOOK_SECONDS, self._recall)

    def action_baseline(self) -> None:
        """Choose the run below the curves, or none."""
        if self.live is None:
            self.say("there is no run yet to compare with another")
            return
        own, config = self.live.run.path, self.live.source.name
        self.run_worker(lambda: self._find(own, config), thread=True, group="baseline")

    def _find(self, own: Path, config: str) -> None:
        from pgs_tui.comparing.baseline import candidates

        self.post_message(self.Candidates(candidates(own, config)))

    def on_dashboard_screen_candidates(self, message: Candidates) -> None:
        if not message.found:
            self.say("no other run of yours is over, so there is nothing to compare with")
            return
        from screens.dialogs.choose import Choice, Choose

        choices = [Choice(str(one.path), one.name, one.note) for one in message.found]
        now = str(self.baseline.path) if self.baseline is not None else choices[0].value
        title = "below the curves, to compare with"
        self.app.push_screen(Choose(title, [*choices, Choice(NONE, "no other run")], now, self.look.glyphs), self._take)

    def _take(self, chosen: str | None) -> None:
        if chosen is None or self.live is None:
            return
        path = Path(chosen) if chosen else None
        if not self.live.readonly:
            config = self.live.source.name
            self.run_worker(lambda: self._remember_baseline(config, path), thread=True, group="baseline")
        if path is None:
            self._show_baseline(None)
            self.say("no other run is below the curves")
        else:
            self.say(f"reading {path.name}")
            self.run_worker(lambda: self._read_baseline(path, is_asked=True), thread=True, group="baseline")

    def _remember_baseline(self, config: str, path: Path | None) -> None:
        from pgs_tui.comparing import baseline_file

        if note := baseline_file.save(config, path):
            self.app.call_from_thread(self.say, note, "warn")

    def _recall(self) -> None:
        """The baseline of the last time, once the run itself has been read."""
        if self.live is None or self.baseline is not None:
            return
        if self.live.loading:
            self.set_timer(LOOK_SECONDS, self._recall)
            return
        own, config = self.live.run.path, self.live.source.name
        self.run_worker(lambda: self._read_remembered(own, config), thread=True, group="baseline")

    def _read_remembered(self, own: Path, config: str) -> None:
        from pgs_tui.comparing import baseline_file

        path = baseline_file.load(config)
        if path is not None and path.resolve() != own.resolve():
            self._read_baseline(path, is_asked=False)

    def _read_baseline(self, path: Path, is_asked: bool) -> None:
        from pgs_tui.comparing.baseline import BaselineError, read_baseline

        try:
            self.post_message(self.BaselineRead(read_baseline(path), "", is_asked))
        except BaselineError as error:
            self.post_message(self.BaselineRead(None, str(error), is_asked))

    def on_dashboard_screen_baseline_read(self, message: BaselineRead) -> None:
        if message.baseline is None:
            self.say(message.why_not, "warn")
        elif message.is_asked or self.baseline is None:
            self._show_baseline(message.baseline)
            self.say(f"b is {message.baseline.name}, below the curves; the key b chooses another one or none")

    def _show_baseline(self, baseline: Baseline | None) -> None:
        self.baseline = baseline
        self.show_curves()
