"""What the person wants of the run: to leave it alone, or to stop it. Both are asked first where it matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from pgs_tui.runs.control import Command

from screens.dashboard_showing import DashboardShowing


class DashboardAsking(DashboardShowing):
    """The keys that leave the run or change it."""

    class Leaving(Message, namespace="dashboard_screen"):
        """The person leaves; `farewell` is what the restored terminal should say."""

        def __init__(self, farewell: str, exit_code: int) -> None:
            super().__init__()
            self.farewell = farewell
            self.exit_code = exit_code

    def action_leave(self) -> None:
        self._gone.set()
        if self.live is None:
            self.post_message(self.Leaving("nothing was started", 0))
        else:
            self.post_message(self.Leaving(self.live.farewell(), self.live.exit_code))

    def action_detach(self) -> None:
        self.action_leave()

    def action_ask_leave(self) -> None:
        if self.live is None or not self.live.going:
            self.action_leave()
            return
        stop = ("stop", "Stop the run with a checkpoint")
        self._ask("The run does not need the dashboard.", ("leave", "Leave; the run goes on"), stop, ("stay", "Stay"))

    def action_stop(self) -> None:
        if self.live is None or not self.live.going:
            self.say("there is no run going that could be stopped")
            return
        question = "Stop the run? It finishes its step and saves a checkpoint, from which it can go on."
        self._ask(question, ("stop", "Stop with a checkpoint"), ("stay", "Let it train"))

    def action_pause(self) -> None:
        """Let the run wait after its step, or go on; nothing is lost either way."""
        if self.live is None or not self.live.going:
            self.say("there is no run going that could be paused")
        elif self.live.paused:
            self._send("resume", "asked to go on")
        else:
            question = "Pause the run? It waits after this step and keeps its memory; P lets it go on."
            self._ask(question, ("pause", "Pause"), ("stay", "Let it train"))

    def action_checkpoint(self) -> None:
        """Save a checkpoint between two steps; the run goes on."""
        if self.live is None or not self.live.going:
            self.say("there is no run going that could save")
        else:
            self._send("checkpoint", "asked for a checkpoint: the engine saves after its step")

    def action_evaluate(self) -> None:
        """Evaluate between two steps; the run goes on."""
        if self.live is None or not self.live.going:
            self.say("there is no run going that could evaluate")
        else:
            self._send("evaluate", "asked for an evaluation: it comes after the step")

    def action_rate(self) -> None:
        """Change the learning rate."""
        self.say("the learning rate of a run that is going cannot be changed by this version yet")

    def action_reconnect(self) -> None:
        """Try a lost connection again."""
        self.say("this run is on this machine: there is no connection that could be lost")

    def action_baseline(self) -> None:
        """Show another run below the curves."""
        self.say("this version cannot show a second run below the curves yet")

    def _pause(self) -> None:
        self._send("pause", "asked to pause: the engine finishes its step")

    def _ask(self, question: str, *answers: tuple[str, str]) -> None:
        from screens.confirm import Answer, Confirm

        actions: dict[str, Callable[[], None]] = {"leave": self.action_leave, "stop": self._stop, "pause": self._pause}

        def take(answer: str | None) -> None:
            if answer in actions:
                actions[answer]()

        offered = [Answer(value, text) for value, text in answers]
        interrupt = "leave" if "leave" in dict(answers) else None  # Ctrl-C twice leaves
        self.app.push_screen(Confirm("sure?", question, offered, self.key_bar.glyphs, interrupt), take)

    def _stop(self) -> None:
        self._send("stop", "asked to stop: the engine finishes its step and saves")

    def _send(self, command: Command, said: str) -> None:
        assert self.live is not None, "asked something of a run that is not there"
        if not self.live.going:
            self.say("the run has ended meanwhile")
            return
        try:
            self.live.ask(command)
        except OSError as error:
            self.say(f"the command could not be written: {error}", "bad")
            return
        self.say(said)
