"""Acting on alerts: a config with what one advises is written, and what becomes critical wakes people up."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.waking import SILENT
from screens.dashboard.showing import DashboardShowing

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.runs.alarm import Watchman
    from pgs_tui.runs.follow import Follower
    from screens.dashboard.alert_writing import Base, Way
    from screens.dashboard.live import LiveRun


class DashboardActing(DashboardShowing):
    """`waking` says what happens when something critical does."""

    waking = SILENT
    _watchman: Watchman | None = None
    _since: float | None = None
    """When the person began to look at the run."""

    def follow(self, live: LiveRun, follower: Follower) -> None:
        self._since = time.time()
        super().follow(live, follower)

    def let_watch(self, watchman: Watchman) -> None:
        """Let it look at the run from now on."""
        self._watchman = watchman

    def on_dashboard_screen_arrived(self, message: DashboardShowing.Arrived) -> None:
        """Called besides the handler that takes the news in."""
        if self._watchman is not None:
            self._watchman.take(message.update)

    def show_now(self) -> None:
        super().show_now()
        self._look_after()

    def _tell_time(self) -> None:
        super()._tell_time()
        self._look_after()

    def _look_after(self) -> None:
        """Once the run's past is known and shown: see what only whoever watches can see."""
        live = self.live
        if live is None or live.loading:
            return
        if self._watchman is None and self._since is not None:
            from pgs_tui.runs.alarm import Watchman

            self._watchman = Watchman(live.folder, self.waking, self._since, self.app.bell)
            self._watchman.know(live.incidents())
        if self._watchman is None:
            return
        if live.be_watched_by(self._watchman):
            self.alerts.show(live.incidents())
            self._refresh_soon()
        for note in self._watchman.notes:
            self.say(note, "warn")
        self._watchman.notes.clear()

    def action_write(self) -> None:
        """Write a config with what the alert advises that is being read, or the newest with the focus on the pane."""
        if self.live is not None and (why_not := self.live.why_not("files")):
            self.explain(why_not)
            return
        alert = self.alerts.selected or (self.alerts.newest if self.focused is self.alerts else None)
        if alert is None or self.live is None:
            self.say("a goes to an alert; w then writes a config with what it advises")
            return
        from screens.dashboard.alert_writing import base_of, completed, ways_of, why_nothing_to_write

        ways = ways_of(alert.advice)
        if not ways:
            self.say(why_nothing_to_write(alert.advice))
            return
        start = self.live.history.start
        is_here = start is not None and self.live.is_here  # the far machine's paths mean nothing here
        base = base_of(self.live.run, start.command if start is not None and is_here else None)
        if base is None:
            missing = f"the config of this run is not known: {self.live.run.config_yaml} is not there"
            self.say(self.live.why_not("profile") or missing, "bad")
            return
        run = self.live.run

        def take(way: Way) -> None:
            self._ask_where(base, replace(way, changes=completed(way.changes, run)))

        self._choose(alert.title, ways, take)

    def _choose(self, title: str, ways: list[Way], take: Callable[[Way], None]) -> None:
        if len(ways) == 1:
            take(ways[0])
            return
        from screens.dialogs.choose import Choice, Choose

        def chosen(value: str | None) -> None:
            if value is not None:
                take(ways[int(value)])

        choices = [Choice(str(place), way.text, way.why) for place, way in enumerate(ways)]
        self.app.push_screen(Choose(title, choices, "0", self.key_bar.glyphs), chosen)

    def _ask_where(self, base: Base, way: Way) -> None:
        from screens.dialogs.line_prompt import LinePrompt
        from screens.profile.writing import proposed_path

        def take(written: str | None) -> None:
            if written and written.strip():
                self._write(base, way, Path(written.strip()).expanduser())

        hint = "path of a new YAML file"
        lost = f", without the comments of {base.left_out.name}" if base.left_out is not None else ""
        self.app.push_screen(LinePrompt(f"{way.text}{lost}: write to", proposed_path(self._near(base)), hint), take)

    def _near(self, base: Base) -> Path:
        """The file that a new one is named after; of a run elsewhere, one in the folder that the person is in."""
        if self.live is None or self.live.is_here:
            return base.path
        return Path.cwd() / f"{self.live.source.name.replace('/', '-')}.yaml"

    def _write(self, base: Base, way: Way, target: Path) -> None:
        from screens.dialogs.confirm import Answer, Confirm

        def take(answer: str | None) -> None:
            if answer == "yes":
                self._save(base, way, target, True)

        if not target.exists():
            self._save(base, way, target, False)
            return
        answers = [Answer("yes", "Write over it"), Answer("no", "Leave it")]
        question = f"{target} exists already. Write over it?"
        self.app.push_screen(Confirm("write", question, answers, self.key_bar.glyphs), take)

    def _save(self, base: Base, way: Way, target: Path, overwrite: bool) -> None:
        from pgs_tui.invocation import own_command
        from screens.profile.writing import save

        try:
            written = save(base.path, {**base.changes, **way.changes}, target, overwrite)
        except (OSError, ValueError) as error:
            self._tell("not written", " ".join(str(error).split()))
            return
        if self.live is not None and not self.live.is_here:
            where = self.live.source.where
            self._tell("written", f"Written: {written}. Its paths are those of {where}: copy it there to train it.")
            return
        going = " once this run has ended" if self.live is not None and self.live.going else ""
        command = f"{own_command()} {shlex.quote(str(written))}"
        self._tell("written", f"Written: {written}. Start it{going} with: {command}")

    def _tell(self, title: str, text: str) -> None:
        from screens.dialogs.confirm import Answer, Confirm

        self.app.push_screen(Confirm(title, text, [Answer("on", "Go on")], self.key_bar.glyphs))
