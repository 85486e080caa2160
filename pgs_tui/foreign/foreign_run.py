"""Training of another tool as a source: it is looked at like a run, but nothing can be asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.events.foreign.recognised import WORDS, recognised
from engine.rundir import RunDir
from pgs_tui.foreign.mirror import ForeignMirror
from pgs_tui.runs.source import Ability

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.events.control_line import CommandName
    from pgs_tui.runs.follow import Follower
    from pgs_tui.runs.link_status import LinkStatus

WHY_NOT: dict[Ability, str] = {
    "control": "another tool trains this: it takes no commands from here",
    "inspect": "another tool trains this: which data and tokens it uses is not known",
    "profile": "another tool trains this: its config is not known",
}


class ForeignRun:
    """What stands at `path`, which is read by a process of its own from now on."""

    abilities: frozenset[Ability] = frozenset(("clock",))
    where = ""

    def __init__(self, path: Path) -> None:
        """Raises NotReadableError (a ValueError) with one sentence, OSError where there is no room for a mirror."""
        self._path = path
        self.found = recognised(path)
        self._mirror = ForeignMirror(self.found)

    @property
    def run(self) -> RunDir:
        """The folder that mirrors it, as long as somebody looks at it."""
        return self._mirror.run

    @property
    def name(self) -> str:
        """The file or folder, with the one it is in: that of a run's files says nothing."""
        path = self.found.path.absolute()
        return f"{path.parent.name}/{path.name}" if path.parent.name else path.name

    @property
    def what(self) -> str:
        """Which tool's files they are."""
        return WORDS[self.found.kind]

    @property
    def address(self) -> str:
        """Its path."""
        return str(self._path)

    def why_not(self, ability: Ability) -> str:
        """A sentence for everything but looking."""
        return "" if ability in self.abilities else WHY_NOT[ability]

    def follower(self) -> Follower:
        """It follows the mirror."""
        from pgs_tui.foreign.follower import ForeignFollower

        return ForeignFollower(self._mirror)

    def link(self) -> LinkStatus | None:
        """There is nothing between."""
        return None

    def try_now(self) -> None:
        """There is nothing to try."""

    def send(self, command: CommandName, **args: float) -> str:
        """Nobody would obey. Raises OSError."""
        raise PermissionError(WHY_NOT["control"])

    def has_spike(self, step: int) -> bool:
        """Other tools record no batches."""
        return False

    def bring_spike(self, step: int) -> bool:
        """Other tools record no batches."""
        return False

    def close(self) -> None:
        """The mirror goes."""
        self._mirror.close()
