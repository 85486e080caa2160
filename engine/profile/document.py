"""What `pgs profile` finds out about a config on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.memory.advice.room import Room
from engine.memory.advice.verdict import Verdict, Word

if TYPE_CHECKING:
    from engine.memory.advice.changes import Change
    from engine.memory.advice.work import Work
    from engine.memory.estimate import Estimate
    from engine.profile.measure import Measurement


@dataclass(frozen=True, slots=True)
class Measured:
    """What real steps took, beside the estimate that was made without them."""

    estimate: Estimate
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Fitting:
    """A GPU of the table, and whether the config fits it."""

    name: str
    memory_gib: float
    word: Word


@dataclass(frozen=True, slots=True)
class Profile:
    """A config before it runs. `room` is None where no GPU is known: then `sizes` says which ones it would fit."""

    model: str
    config: str
    """Where it was read from."""
    room: Room | None
    why_no_room: str
    """One sentence, empty where there is a room."""
    estimate: Estimate
    verdict: Verdict
    changes: tuple[Change, ...]
    work: Work
    sizes: tuple[Fitting, ...] = ()
    measured: Measured | None = None
    price: float | None = None
    """Of an hour, in dollars."""
