"""A run that is played, as a source: it is looked at like one that is going, and nothing can be asked of its engine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.rundir import RunDir
from pgs_tui.replaying.playback import USUAL_SPEED, Playback
from pgs_tui.runs.life import Engine
from pgs_tui.runs.source import Ability, LocalRun, Source

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.events.control_line import CommandName
    from pgs_tui.runs.follow import Follower
    from pgs_tui.runs.link_status import LinkStatus

WHY_NOT: dict[Ability, str] = {
    "control": "this is a replay: what is shown is over, and nothing can be asked of it",
    "clock": "this is a replay: it has a time of its own",
}


class ReplayedRun:
    """The run as it was, from after the step `at` on; `plays` says whether it goes on by itself.

    One on another machine, or of another tool, is brought here first, as far as it has been written by then.
    """

    def __init__(self, as_it_is: Source, speed: float | None = None, at: int | None = None, plays: bool = True) -> None:
        self.playback = Playback(speed or USUAL_SPEED)
        self._as_it_is = as_it_is
        self._at, self._plays = at, plays

    @property
    def run(self) -> RunDir:
        """The run's folder, or the one that mirrors it."""
        return self._as_it_is.run

    @property
    def name(self) -> str:
        """That of the run."""
        return self._as_it_is.name

    @property
    def where(self) -> str:
        """Where the run is."""
        return self._as_it_is.where

    @property
    def address(self) -> str:
        """That of the run."""
        return self._as_it_is.address

    @property
    def abilities(self) -> frozenset[Ability]:
        """Those of the run that need neither an engine nor the present."""
        return self._as_it_is.abilities - WHY_NOT.keys()

    def now(self) -> float:
        """The time of day of the moment that is shown, unix seconds; the present one before there is any."""
        moment = self.playback.moment()
        return moment.t if moment is not None else time.time()

    def why_not(self, ability: Ability) -> str:
        """A sentence for what needs an engine or the present, or cannot be done with the run at all."""
        return WHY_NOT.get(ability) or self._as_it_is.why_not(ability)

    def follower(self) -> Follower:
        """It follows the playback."""
        from pgs_tui.replaying.follower import ReplayFollower

        run, source = self.run, self._as_it_is
        is_here = isinstance(source, LocalRun)
        life = Engine(run).look()[0] if is_here else "starting"
        brings = None if is_here else source.follower()
        return ReplayFollower(run.events, run.console_log, self.playback, life, self._at, self._plays, brings)

    def link(self) -> LinkStatus | None:
        """How things stand with the machine that the run is on."""
        return self._as_it_is.link()

    def try_now(self) -> None:
        """Do not wait for the next try."""
        self._as_it_is.try_now()

    def send(self, command: CommandName, **args: float) -> str:
        """Nobody would obey. Raises OSError."""
        raise PermissionError(WHY_NOT["control"])

    def has_spike(self, step: int) -> bool:
        """Whether the record is there."""
        return self._as_it_is.has_spike(step)

    def bring_spike(self, step: int) -> bool:
        """Have the record stand in the run's folder."""
        return self._as_it_is.bring_spike(step)

    def close(self) -> None:
        """Nobody looks at it any more."""
        self._as_it_is.close()
