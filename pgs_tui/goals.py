"""What a person opened the program for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.keys import ScreenName

if TYPE_CHECKING:
    from pgs_tui.listing.listing import ListView
    from pgs_tui.runs.source import Source


@dataclass(frozen=True, slots=True)
class StartConfig:
    """To train a config and watch it."""

    config: Path
    overrides: tuple[str, ...]
    name: str

    @property
    def screen(self) -> ScreenName:
        """The screen that it opens."""
        return "dashboard"

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "checking config"


@dataclass(frozen=True, slots=True)
class Attach:
    """To watch a run that a person has named: RUN, `user@host:path`, or a file of another tool; none is the newest.

    It is opened before the next screen, while ssh can still ask in the terminal. With `readonly` nothing is written,
    to the run or beside it. `back` is what Esc goes back to in the end.
    """

    run: str | None
    readonly: bool = False
    back: Goal | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """To see a run that is over as it was: from the step `at` on, `speed` times as fast as it went."""

    run: str | None
    speed: float | None = None
    at: int | None = None
    back: Goal | None = None


@dataclass(frozen=True, slots=True)
class Compare:
    """To lay the curves of two to six runs over each other, each named as for Attach."""

    runs: tuple[str, ...]
    back: Goal | None = None


@dataclass(frozen=True, slots=True)
class ListRuns:
    """To see all runs below a folder, here or, as `user@host:DIR`, elsewhere; of None those that are known here.

    `note` is said when the list stands: why what was chosen there before could not be opened. `view` is how it was
    looked at before.
    """

    folder: str | None
    readonly: bool = False
    note: str = ""
    view: ListView | None = None

    @property
    def name(self) -> str:
        """What the first line says."""
        return self.folder or "runs"

    @property
    def is_elsewhere(self) -> bool:
        """Whether the folder is one of another machine. Raises ValueError for a host that cannot be one."""
        from pgs_tui.remote.address import address_of

        return self.folder is not None and address_of(self.folder) is not None

    @property
    def screen(self) -> ScreenName:
        """The screen that it opens."""
        return "runs"

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "looking for runs"


@dataclass(frozen=True, slots=True)
class AttachTo:
    """To watch a run that was found. With `readonly` no key changes it or writes a file."""

    source: Source
    readonly: bool = False
    back: Goal | None = None

    @property
    def name(self) -> str:
        """What the first line says."""
        return self.source.name

    @property
    def screen(self) -> ScreenName:
        """The screen that it opens."""
        return "dashboard" if "clock" in self.source.abilities else "replay"

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "reading the log"


@dataclass(frozen=True, slots=True)
class CompareRuns:
    """To see runs that were found over each other; the first is what all are measured against."""

    sources: tuple[Source, ...]
    back: Goal | None = None

    @property
    def name(self) -> str:
        """What the first line says."""
        return f"{len(self.sources)} runs"

    @property
    def again(self) -> Compare:
        """What leads here once more."""
        return Compare(tuple(source.address for source in self.sources), self.back)

    @property
    def screen(self) -> ScreenName:
        """The screen that it opens."""
        return "compare"

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "reading the logs"


@dataclass(frozen=True, slots=True)
class InspectData:
    """To look at the data of a config or of a run. `arguments` name it for `pgs inspect`."""

    arguments: tuple[str, ...]
    name: str
    row: int | None = None

    @property
    def screen(self) -> ScreenName:
        """The screen that it opens."""
        return "inspect"

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "starting the inspector"


@dataclass(frozen=True, slots=True)
class PickConfig:
    """To see what there is to train in the folder, held against a GPU by `gpu`, by `memory` GiB, or this machine's."""

    here: Path
    name: str
    gpu: str | None = None
    memory: float | None = None

    @property
    def screen(self) -> ScreenName:
        """The screen that it opens."""
        return "picker"

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "looking for configs"


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """To see what a config takes of a GPU: one by `gpu`, one of `memory` GiB, or this machine's own."""

    config: Path
    overrides: tuple[str, ...]
    name: str
    gpu: str | None = None
    memory: float | None = None

    @property
    def screen(self) -> ScreenName:
        """The screen that it opens."""
        return "profile"

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "starting the profiler"


Wish = Attach | Replay | Compare
"""What a person named, and `opening.opened` finds: the goals that a screen may say goodbye with."""

Opened = StartConfig | AttachTo | ListRuns | CompareRuns | InspectData | PickConfig | ProfileConfig
"""What a screen can show."""

Goal = Opened | Wish
