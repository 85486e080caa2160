"""A run in a list."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.events.summary import RunSummary
from engine.rundir import Liveness
from pgs_tui.listing.labels import NONE, Labels

Tool = Literal["Trainer", "TensorBoard"]
"""Other tools whose training is listed: Hugging Face's Trainer, and whatever writes event files for TensorBoard."""

GOING: tuple[Liveness, ...] = ("live", "starting", "elsewhere")
"""States in which a run may be writing its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """All that a list knows of a run. `path` is that of its folder on the machine `where`, "user@host", empty for here.

    `name` is that of its config, `shown` its folder as told from the one that was looked through. `size` is what its
    files take of the disk, in bytes. `must_sum` says that its log is still to be read, `cannot_sum` that it cannot be:
    then all but its last step and its end may be old or missing. `trouble` says what is wrong with the folder; one that
    cannot be looked into has no `life`. Training of another `tool` has none either: only its files are known, and
    `log_inode` is what they are known again by.
    """

    path: Path
    shown: str
    name: str
    where: str = ""
    tool: Tool | None = None
    life: Liveness | None = None
    started: float | None = None
    host: str = ""
    started_by: str = ""
    parent: str | None = None
    summary: RunSummary | None = None
    log_inode: int | None = None
    must_sum: bool = False
    cannot_sum: bool = False
    size: int | None = None
    labels: Labels = NONE
    trouble: str = ""

    @property
    def id(self) -> str:
        """The name of its folder."""
        return self.path.name

    @property
    def address(self) -> str:
        """What `pgs-tui attach` takes."""
        return f"{self.where}:{self.path}" if self.where else str(self.path)

    @property
    def is_readable(self) -> bool:
        """Whether anything is known of it but that it is there."""
        return self.life is not None or self.tool is not None

    @property
    def is_going(self) -> bool:
        """Whether an engine may be at work in it."""
        return self.life in GOING

    @property
    def is_paused(self) -> bool:
        """Whether its engine waits for somebody who lets it go on."""
        return self.is_going and self.summary is not None and self.summary.phase == "paused"

    @property
    def seconds(self) -> float | None:
        """How long engines were at work on it."""
        seconds = self.summary.seconds if self.summary and self.summary.first_t is not None else None
        return (seconds or None) if self.tool else seconds
