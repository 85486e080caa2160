"""The processes of a run that trains on several GPUs: how quick each is, and which of them the others wait for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from engine.events import Step
from pgs_tui.history.axis import LARGEST_STEP

RECENT = 64
"""Steps of a rank that speak for its present."""
MOST_RANKS = 1024


@dataclass(frozen=True, slots=True)
class Rank:
    """One process: its newest step, and how its steps are lately.

    `dt` is the median of its recent steps in seconds; `lag` by how many of them it lies above the median of all ranks,
    negative when it is quicker; `behind` how many steps it is behind the one that is furthest.
    """

    rank: int
    step: int
    behind: int
    dt: float | None
    lag: float | None
    tok_s: float
    memory_peak: float | None
    """GiB, of its newest step."""


class Ranks:
    """Take in the steps of every rank; `all` is empty for a run of one process."""

    def __init__(self) -> None:
        self._newest: dict[int, Step] = {}
        self._seconds: dict[int, deque[float]] = {}

    def take(self, step: Step) -> None:
        """Take in a step of any rank."""
        self.extend(step, (step.dt,))

    def extend(self, newest: Step, seconds: Sequence[float]) -> None:
        """Take in many steps of one rank: the newest of them, and the `dt` of each in their order."""
        is_known = newest.rank in self._newest or len(self._newest) < MOST_RANKS
        if not is_known or abs(newest.step) > LARGEST_STEP:
            return
        self._newest[newest.rank] = newest
        self._seconds.setdefault(newest.rank, deque(maxlen=RECENT)).extend(filter(isfinite, seconds))

    def all(self) -> tuple[Rank, ...]:
        """Every rank in order, where there are several."""
        if len(self._newest) < 2:
            return ()
        furthest = max(step.step for step in self._newest.values())
        usual = {rank: median(seconds) for rank, seconds in self._seconds.items()}
        middle = median([dt for dt in usual.values() if dt is not None])
        return tuple(
            Rank(
                rank=rank,
                step=step.step,
                behind=furthest - step.step,
                dt=usual[rank],
                lag=_difference(usual[rank], middle),
                tok_s=step.tok_s,
                memory_peak=step.mem.peak,
            )
            for rank, step in sorted(self._newest.items())
        )


def median(values: list[float] | deque[float]) -> float | None:
    """The middle one, or the mean of the two in the middle; None without any."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
