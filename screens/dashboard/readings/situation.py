"""A run as it is now: its past, its engine, and the wall clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pgs_tui.drawing.lines import Role
from pgs_tui.history.history import History
from pgs_tui.runs.life import Life
from pgs_tui.runs.link_status import LinkStatus

Outcome = Literal["running", "finished", "stopped", "failed", "killed"]

OUTCOME_SIGNS: dict[Outcome, tuple[str, Role]] = {
    "finished": ("✔", "good"),
    "stopped": ("■", "warn"),
    "failed": ("✖", "bad"),
    "killed": ("✖", "bad"),
}


@dataclass(frozen=True, slots=True)
class Situation:
    """The run as it is now: its past, its engine, and the wall clock."""

    name: str
    history: History
    life: Life
    now: float
    exit_code: int | None = None
    held: bool = False
    loading: bool = False
    """True while the run's past is still being read, and nothing can be said about its present."""
    progress: float | None = None
    """The share of the past that has been read, while `loading`, or fetched, while the present is seen already."""
    trouble: str | None = None
    """Why the log cannot be read at the moment."""
    host: str | None = None
    """The machine where the engine runs, as far as is known."""
    phase_since: float | None = None
    """When the present phase began, in unix seconds."""
    where: str = ""
    """The machine that the run is looked at over ssh on, as a person names it."""
    link: LinkStatus | None = None
    """How things stand with that machine."""
    readonly: bool = False
    """True where the person has asked that nothing can be changed from here."""

    is_awaited: bool = False
    """True while an engine that was started from here has told nothing yet: a known end is that of an earlier one."""

    @property
    def clock(self) -> float:
        """This machine's time in unix seconds, while `now` is that of the machine where the run is."""
        return self.now - (self.link.skew if self.link is not None else 0.0)

    @property
    def is_cut_off(self) -> bool:
        """True while nobody here knows what the run does now."""
        return self.trouble is not None or (self.link is not None and self.link.state != "up")

    @property
    def outcome(self) -> Outcome:
        """How the run ended, or that it has not, as far as the log has been read."""
        if self.loading or self.is_awaited:
            return "running"
        if self.history.end is not None:
            return self.history.end.status
        return "killed" if self.life == "gone" and not self.is_untold else "running"

    @property
    def is_untold(self) -> bool:
        """True while nobody here can tell whether the run goes on or how it ended: what would say so cannot be read."""
        return self.life == "unknown" or (self.life == "gone" and self.trouble is not None)
