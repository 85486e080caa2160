"""A run that is over, below the curves of one that goes on: which there are, and what it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.events.columns import GpuColumns
from engine.rundir import RunDir, list_runs
from pgs_tui.history.history import History
from pgs_tui.listing.reading import read_row
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.words import loss, state, steps
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.past import past_of

SIGN = "b"
MOST_CANDIDATES = 40
TAG = "baseline"
"""Runs with this tag are offered first."""


class BaselineError(ValueError):
    """A run cannot stand below the curves, and why."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run as it was at its end; another object is another one."""

    path: Path
    history: History

    @property
    def name(self) -> str:
        """The run's id."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run to choose: its id, and how it went."""

    path: Path
    name: str
    note: str


def candidates(beside: Path, config: str) -> list[Candidate]:
    """Runs of this user that are over: those with the tag first, then those of that config, newest first."""
    own = beside.resolve()
    rows = (read_row(run.path, run.id) for run in list_runs() if run.path.resolve() != own)
    over = [row for row in rows if row.life is not None and not row.is_going and not row.trouble]
    over.sort(key=lambda row: (TAG not in row.labels.tags, row.name != config))
    return [Candidate(row.path, row.id, _note(row)) for row in over[:MOST_CANDIDATES]]


def read_baseline(path: Path) -> Baseline:
    """The whole run; at 200,000 steps a second or two. Raises BaselineError."""
    run = RunDir(path)
    past = past_of(run.events)
    follower = Follower.of(run, past=past)
    history = History()
    try:
        while (update := _taken(follower, history)).loading and update.trouble is None:
            pass
    finally:
        if past is not None:
            past.close()
    if update.trouble is not None:
        raise BaselineError(f"the log of {path.name} cannot be read: {update.trouble}")
    if not history.steps:
        raise BaselineError(f"{path.name} has no step to compare with")
    return Baseline(path, history)


def _taken(follower: Follower, history: History) -> Update:
    """Fold what a poll brings; what GPUs did is left out, since nothing is compared with it."""
    update = Update()
    for update in follower.poll():
        if update.survey:
            continue
        for block in update.columns:
            if not isinstance(block, GpuColumns):
                history.extend(block)
        history.fold(update.events)
    return update


def _note(row: RunRow) -> str:
    sign, word = state(row)
    return f"{sign} {word}  {steps(row)}  loss {loss(row)}"
