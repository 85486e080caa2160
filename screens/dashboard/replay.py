"""A run that is played, on the dashboard: the same panes, with keys that play it, hold it, and go to a step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import BindingType

from pgs_tui.format import whole
from pgs_tui.keys import bindings_of
from pgs_tui.waking import SILENT
from pgs_tui.widgets.status_line import Status
from screens.dashboard.screen import DashboardScreen
from screens.dashboard.showing import DashboardShowing

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.replaying.playback import Playback
    from pgs_tui.replaying.replayed_run import ReplayedRun
    from screens.dashboard.live import LiveRun

PLAYS, STANDS = "▶", "‖"
AT_THE_END = "the end is reached: space plays it again, : goes to a step"
NO_TIMES = "its steps have no times, so it cannot be played; , . take a step back and on, : goes to one"


class ReplayScreen(DashboardScreen, inherit_bindings=False):
    """Give it a ReplayedRun with `follow`. Nobody is woken by what was critical then."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings_of("replay"))
    screen_name = "replay"
    _end_was_said = False

    @property
    def playback(self) -> Playback | None:
        """What is played, once its log has been read."""
        if self.live is None:
            return None
        playback = cast("ReplayedRun", self.live.source).playback
        return playback if playback.moment() is not None else None

    def on_dashboard_screen_arrived(self, message: DashboardShowing.Arrived) -> None:
        """Called before the handler that takes the news in."""
        if message.update.afresh:
            self._new_log.clear()
            self.log_panel.clear()
            self._watchman = None  # what it knew of was told later than what is shown now
        self.waking = SILENT

    def status_of(self, live: LiveRun) -> Status:
        """That it is a replay, how fast, and the state that the run was in."""
        status, playback = super().status_of(live), self.playback
        if playback is None:
            return status
        speed = f"REPLAY {playback.speed:g}x"
        state = f"{speed}, at its end: {status.state}" if playback.is_at_end else f"{speed} · {status.state}"
        return replace(status, sign=PLAYS if playback.plays else STANDS, state=state)

    def goes_on(self, live: LiveRun) -> bool:
        """It is over, whatever it shows."""
        return False

    def action_ask_leave(self) -> None:
        """Nothing is lost by leaving."""
        self.action_leave()

    def show_now(self) -> None:
        super().show_now()
        playback = self.playback
        is_at_end = playback is not None and playback.is_at_end
        if is_at_end and not self._end_was_said:
            self.say(AT_THE_END if playback is not None and playback.has_times else NO_TIMES)
        self._end_was_said = is_at_end

    def action_play(self) -> None:
        """Play, or hold it here."""
        if (playback := self._known_playback()) is None:
            return
        if not playback.has_times:
            self.say(NO_TIMES)
        else:
            self.say("it is played" if playback.play() else "it is held; , and . go one step back and on")
            self._show_status()

    def action_slower(self) -> None:
        self._change_speed(-1)

    def action_faster(self) -> None:
        self._change_speed(1)

    def action_step_back(self) -> None:
        self._step(-1, "here the run begins")

    def action_step_on(self) -> None:
        self._step(1, "here the run ends")

    def action_seek(self) -> None:
        """Ask for a step, and go there."""
        from screens.dialogs.line_prompt import LinePrompt

        playback = self._known_playback()
        if playback is None:
            return
        first, last = playback.ends

        def take(written: str | None) -> None:
            if written is not None and written.strip():
                self._seek(playback, written.strip())

        hint = f"a step from {whole(first)} to {whole(last)}; 0 is before the first"
        self.app.push_screen(LinePrompt("go to step", "", hint), take)

    def _seek(self, playback: Playback, written: str) -> None:
        digits = written.replace(",", "").replace(" ", "")
        if not digits.isdecimal():
            self.say(f"{written} is no number of a step", "bad")
            return
        step = playback.seek(int(digits))
        if step is None:
            self.say("before the first step")
        elif step != int(digits):
            self.say(f"step {whole(step)} is the last one before {written}")
        self._show_status()

    def _step(self, by: int, unchanged: str) -> None:
        playback = self._known_playback()
        if playback is None:
            return
        before = playback.moment()
        playback.step_by(by)
        if playback.moment() == before:
            self.say(unchanged)
        self._show_status()

    def _change_speed(self, by: int) -> None:
        if (playback := self._known_playback()) is not None:
            before = playback.speed
            speed = playback.change_speed(by)
            self.say(f"{speed:g} times as fast as it was" if speed != before else f"{speed:g} is the limit")
            self._show_status()

    def _known_playback(self) -> Playback | None:
        playback = self.playback
        if playback is None:
            self.say("the log is being read")
        return playback
