"""What the person wants of the run's engine: to stop, to pause, to save, to evaluate, another learning rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from screens.dashboard.showing import DashboardShowing

if TYPE_CHECKING:
    from engine.events.control_line import CommandName
    from screens.dashboard.live import LiveRun


class DashboardSteering(DashboardShowing):
    """The keys that change the run. Commands are sent from a thread: a far machine may take its time."""

    def action_stop(self) -> None:
        """Stop the run, if that is really meant."""
        if self._steered("that could be stopped") is not None:
            question = "Stop the run? It finishes its step and saves a checkpoint, from which it can go on."
            self._ask_before(question, "Stop with a checkpoint", self.stop_run)

    def action_pause(self) -> None:
        """Let the run wait after its step, or go on; nothing is lost either way."""
        live = self._steered("that could be paused")
        if live is None:
            return
        if live.paused:
            self._send("resume", "asked to go on")
        else:
            question = "Pause the run? It waits after this step and keeps its memory; P lets it go on."
            said = "asked to pause: the engine finishes its step"
            self._ask_before(question, "Pause", lambda: self._send("pause", said))

    def action_checkpoint(self) -> None:
        """Save a checkpoint between two steps; the run goes on."""
        if self._steered("that could save") is not None:
            self._send("checkpoint", "asked for a checkpoint: the engine saves between two steps")

    def action_evaluate(self) -> None:
        """Evaluate between two steps; the run goes on."""
        if self._steered("that could evaluate") is not None:
            self._send("evaluate", "asked for an evaluation, which comes between two steps")

    def action_rate(self) -> None:
        """Multiply the learning rate by a factor that the person chooses."""
        live = self._steered("whose learning rate could be another")
        if live is None:
            return
        from screens.dialogs.rate_prompt import RatePrompt

        def take(factor: float | None) -> None:
            if factor is not None:
                self._send("scale_lr", f"asked for a learning rate × {factor:g}", factor=factor)

        self.app.push_screen(RatePrompt(live.learning_rate, self.key_bar.glyphs), take)

    def stop_run(self) -> None:
        """Ask the engine to stop; whoever calls it has asked the person."""
        self._send("stop", "asked to stop: the engine finishes its step and saves")

    def _steered(self, what: str) -> LiveRun | None:
        """The run, if it goes on and may be steered from here; else it is said why not."""
        if self.live is None or not self.live.going:
            self.say(f"there is no run going {what}")
        elif why_not := self.live.why_not("control"):
            self.explain(why_not)
        else:
            return self.live
        return None

    def _ask_before(self, question: str, yes: str, act: Callable[[], None]) -> None:
        from screens.dialogs.confirm import Answer, Confirm

        def take(answer: str | None) -> None:
            if answer == "yes":
                act()

        answers = [Answer("yes", yes), Answer("stay", "Let it train")]
        self.app.push_screen(Confirm("sure?", question, answers, self.key_bar.glyphs), take)

    def _send(self, command: CommandName, said: str, **args: float) -> None:
        live = self.live
        assert live is not None, "asked something of a run that is not there"
        if not live.going:
            self.say("the run has ended meanwhile")
            return

        def send() -> None:
            try:
                live.ask(command, **args)
            except OSError as error:
                self.app.call_from_thread(self.say, f"{command} could not be sent: {error.strerror or error}", "bad")
            else:
                self.app.call_from_thread(self.say, said)

        if live.source.where:
            self.say(f"{command}: on its way to {live.source.where}")
        self.run_worker(send, thread=True, group="command")
