"""The runs of a comparison: each has a sign, a colour and a name that none of the others has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from pgs_tui.drawing.lines import Role
from pgs_tui.format import plain
from pgs_tui.history.history import History
from screens.dashboard.live import LiveRun

MOST_RUNS = 6
SIGNS = "123456"
ROLES: tuple[Role, ...] = ("series-1", "series-4", "series-3", "series-5", "series-6", "series-7")
"""Those of all the series that a thin line is well seen in."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A run of a comparison. `sign` stands on its curve and before its name."""

    sign: str
    role: Role
    name: str
    live: LiveRun

    @property
    def history(self) -> History:
        """What is known of it now; another object whenever its log begins anew."""
        return self.live.history


def compared(lives: Sequence[LiveRun]) -> tuple[Compared, ...]:
    """The runs in the order in which they were named, at most MOST_RUNS, called as is known of them now."""
    assert 1 <= len(lives) <= MOST_RUNS, "so many have signs"
    names = short_names([live.run_id for live in lives])
    where = [f" ({plain(live.source.where)})" if live.source.where else "" for live in lives]
    called = (f"{name}{place}" for name, place in zip(names, where, strict=True))
    return tuple(Compared(*one) for one in zip(SIGNS, ROLES, called, lives, strict=False))


def short_names(ids: Sequence[str]) -> tuple[str, ...]:
    """The ids without the words that all of them begin with or end with, as long as they are told apart."""
    words = [plain(one).split("-") for one in ids]
    front = len(list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))))
    short = ["-".join(one[front:]) for one in words]
    return tuple(short) if len(set(short)) == len(ids) and all(short) else tuple(map(plain, ids))
