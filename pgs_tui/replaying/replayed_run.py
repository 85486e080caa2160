"""A run that is played, as a source: it is looked at like one that is going, and nothing can be asked of its engine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.rundir import RunDir
from pgs_tui.replaying.playback import USUAL_SPEED, Playback
from pgs_tui.runs.life import Engine
from pgs_tui.runs.source import Ability, LocalRun

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.events.control_line import CommandName
    from pgs_tui.runs.follow import Follower
    from pgs_tui.runs.link_status import LinkStatus

WHY_NOT: dict[Ability, str] = {
    "control": "this is a replay: what is shown is over, and nothing can be asked of it",
    "clock": "this is a replay: it has a time of its own",
}


class ReplayedRun:
    """The run as it was, from after the step `at` on; `plays` says whether it goes on by itself."""

    abilities: frozenset[Ability] = frozenset(("inspect", "profile"))
    where = ""

    def __init__(self, run: RunDir, speed: float | None = None, at: int | None = None, plays: bool = True) -> None:
        self.run = run
        self.playback = Playback(speed or USUAL_SPEED)
        self._as_it_is = LocalRun(run)
        self._at, self._plays = at, plays

    @property
    def name(self) -> str:
        """That of the run."""
        return self._as_it_is.name

    @property
    def address(self) -> str:
        """That of the run."""
        return self._as_it_is.address

    def now(self) -> float:
        """The time of day of the moment that is shown, unix seconds; the present one before there is any."""
        moment = self.playback.moment()
        return moment.t if moment is not None else time.time()

    def why_not(self, ability: Ability) -> str:
        """A sentence for what needs an engine or the present."""
        return WHY_NOT.get(ability, "")

    def follower(self) -> Follower:
        """It follows the playback."""
        from pgs_tui.replaying.follower import ReplayFollower

        life, _ = Engine(self.run).look()
        return ReplayFollower(self.run.events, self.run.console_log, self.playback, life, self._at, self._plays)

    def link(self) -> LinkStatus | None:
        """There is nothing between."""
        return None

    def try_now(self) -> None:
        """There is nothing to try."""

    def send(self, command: CommandName, **args: float) -> str:
        """Nobody would obey. Raises OSError."""
        raise PermissionError(WHY_NOT["control"])

    def has_spike(self, step: int) -> bool:
        """Whether the record is there."""
        return self._as_it_is.has_spike(step)

    def bring_spike(self, step: int) -> bool:
        """Whether the record is there."""
        return self._as_it_is.bring_spike(step)

    def close(self) -> None:
        """Nothing is held."""
