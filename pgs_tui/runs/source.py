"""Where a run comes from: what a screen asks, whether the run is here, far away, over, or not ours at all."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING, Literal, Protocol

from engine.rundir import RunDir, name_of, read_run_info
from pgs_tui.runs.link_status import LinkStatus

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.events.control_line import CommandName
    from pgs_tui.runs.follow import Follower
    from pgs_tui.runs.past import Past

Ability = Literal["control", "inspect", "profile", "clock"]
"""Commands are obeyed; its data can be inspected; its memory can be profiled; it goes on with the time of day."""
ALL_ABILITIES: frozenset[Ability] = frozenset(("control", "inspect", "profile", "clock"))


class Source(Protocol):
    """A run, wherever it is. All of it may be asked from any thread."""

    @property
    def run(self) -> RunDir:
        """Its folder, or one on this machine that mirrors it."""

    @property
    def name(self) -> str:
        """What it is called on a screen; known better once its `run.json` has been read."""

    @property
    def where(self) -> str:
        """The machine, as a person names it; empty for this one."""

    @property
    def address(self) -> str:
        """What `pgs-tui attach` takes to come back."""

    @property
    def abilities(self) -> frozenset[Ability]:
        """What can be done with it besides looking."""

    def why_not(self, ability: Ability) -> str:
        """A sentence that says why something cannot be done; empty where it can."""

    def follower(self) -> Follower:
        """Who brings its news; to be asked once."""

    def link(self) -> LinkStatus | None:
        """How things stand with the machine it is on; None where there is nothing between."""

    def try_now(self) -> None:
        """Somebody does not want to wait until a lost link is tried again."""

    def send(self, command: CommandName, **args: float) -> str:
        """Ask something of its engine and return the id under which the `ack` comes. May wait. Raises OSError."""

    def has_spike(self, step: int) -> bool:
        """Whether the batch of a step was recorded, as far as is known."""

    def bring_spike(self, step: int) -> bool:
        """Have the record stand in `run.spike(step)`; False where there is none. May wait. Raises OSError."""

    def close(self) -> None:
        """Nobody looks at it any more."""


class LocalRun:
    """A run on this machine; `process` is its engine if this program started it, `past` what is being read already."""

    abilities = ALL_ABILITIES
    where = ""

    def __init__(
        self,
        run: RunDir,
        name: str | None = None,
        process: subprocess.Popen[bytes] | None = None,
        past: Past | None = None,
    ) -> None:
        self.run = run
        self._name = name
        self._process = process
        self._past = past
        self.begun = time.time() if process is not None else None
        """When this program started an engine in the folder, unix seconds: what was told before is an earlier one's."""

    @property
    def name(self) -> str:
        """As it was given, else as `run.json` says."""
        if self._name is None:
            info = read_run_info(self.run)
            self._name = info.name if info is not None else None
        return self._name or self.run.id

    @property
    def address(self) -> str:
        """Its id, or its path where that would not find it."""
        return name_of(self.run)

    def why_not(self, ability: Ability) -> str:
        """Nothing stands in the way."""
        return ""

    def follower(self) -> Follower:
        """It reads the run's folder."""
        from pgs_tui.runs.follow import Follower

        return Follower.of(self.run, self._process, self._past)

    def link(self) -> LinkStatus | None:
        """There is nothing between."""
        return None

    def try_now(self) -> None:
        """There is nothing to try."""

    def send(self, command: CommandName, **args: float) -> str:
        """Append to its control file. Raises OSError."""
        from pgs_tui.runs.control import send

        return send(self.run, command, **args)

    def has_spike(self, step: int) -> bool:
        """Whether the record is there."""
        return self.run.spike(step).is_file()

    def bring_spike(self, step: int) -> bool:
        """Whether the record is there."""
        return self.has_spike(step)

    def close(self) -> None:
        """What reads its past ends."""
        if self._past is not None:
            self._past.stop()
