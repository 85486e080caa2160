"""The person leaves the run alone, or is asked first: it goes on without the dashboard."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from screens.dashboard.steering import DashboardSteering


class DashboardAsking(DashboardSteering):
    """The keys that leave."""

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
        """Ask whether to leave, to stop the run, or to stay; leave at once where there is none that goes on."""
        if self.live is None or not self.live.going:
            self.action_leave()
            return
        from screens.dialogs.confirm import Answer, Confirm

        actions: dict[str, Callable[[], None]] = {"leave": self.action_leave, "stop": self.stop_run}

        def take(answer: str | None) -> None:
            if answer in actions:
                actions[answer]()

        answers = [Answer("leave", "Leave; the run goes on")]
        if not self.live.why_not("control"):
            answers.append(Answer("stop", "Stop the run with a checkpoint"))
        answers.append(Answer("stay", "Stay"))
        question = "The run does not need the dashboard."
        self.app.push_screen(Confirm("sure?", question, answers, self.key_bar.glyphs, interrupt="leave"), take)
