"""A night of training on the disk, and somebody who watches it played."""

from __future__ import annotations

from pathlib import Path

from engine.events import End, Stamped, Step, encode
from engine.events.console import format_step
from engine.rundir import RunDir
from pgs_tui.history.history import History
from pgs_tui.runs.follow import Follower, Update
from tests.screens.night import end_of_night, night


def night_events() -> tuple[Stamped, ...]:
    """All that is told in the night, and its end."""
    end = End(status="stopped", reason="by request", exit_code=0, last_step=600)
    return (*night(gpus=1).events, Stamped(end_of_night() + 1, end))


def night_on_disk(folder: Path) -> RunDir:
    """The night as a run's folder."""
    folder.mkdir()
    events = night_events()
    lines = [f"{encode(one.event, one.t)}\n" for one in events]
    (folder / "events.jsonl").write_text("".join(lines), encoding="utf-8")
    told = [format_step(one.event) for one in events if isinstance(one.event, Step) and one.event.step % 10 == 0]
    (folder / "console.log").write_text("\n".join(("the engine starts", *told, "stopped: by request")) + "\n")
    return RunDir(folder)


class Hand:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Watcher:
    """Takes what a follower brings into a history, as the dashboard does."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.history = History()
        self.lines: list[str] = []
        self.last = Update()
        self.afresh = 0

    def look(self) -> History:
        """Everything that is told up to now."""
        for update in self._follower.poll():
            if update.afresh:
                self.history, self.lines = History(), []
                self.afresh += 1
            for block in update.columns:
                self.history.extend(block)
            self.lines += update.log
            self.last = update
        return self.history
