"""What comes before a run can be watched: check its config, see whether it already runs, find what was named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.rundir import RunDir, RunNotFoundError, list_runs, liveness, resolve_run
from pgs_tui.goals import Attach, AttachTo, Compare, CompareRuns, Wish
from pgs_tui.runs.launcher import Recipe
from pgs_tui.runs.past import past_of
from pgs_tui.runs.source import LocalRun, Source

if TYPE_CHECKING:
    from pgs_tui.replaying.replayed_run import ReplayedRun

FIRST_ANSWER_SECONDS = 30.0
_GOING_HERE = ("live", "starting")
_GOING = (*_GOING_HERE, "elsewhere")


@dataclass(frozen=True, slots=True)
class Checked:
    """A config that can be trained, the runs of it that are going already, and what whoever starts it must know."""

    recipe: Recipe
    going: tuple[RunDir, ...]
    warning: str = ""


def check(config: Path, overrides: tuple[str, ...]) -> Checked:
    """Load the config as the engine will. Raises ValueError, whose text names every problem."""
    from engine.config import load_config
    from pgs_tui.picking.words import code_of

    loaded = load_config(config, list(overrides))
    recipe = Recipe(
        config=config.absolute(),
        overrides=overrides,
        name=loaded.name,
        output_dir=Path(loaded.config.train.output_dir),
        resume=loaded.config.train.resume_from == "auto",
    )
    model = loaded.config.model
    return Checked(recipe, going(loaded.name), code_of(model.name_or_path) if model.trust_remote_code else "")


def going(name: str) -> tuple[RunDir, ...]:
    """The runs of this config's name whose engines are alive, newest first."""
    runs = (RunDir(run.path) for run in list_runs() if run.name == name)
    return tuple(run for run in runs if liveness(run) in _GOING)


def find_run(text: str | None) -> RunDir:
    """The run that a person means; without a word the newest that is going.

    One on this machine comes before those of others, the newest of all where none is going. Raises RunNotFoundError
    (a ValueError) with what would have been possible.
    """
    if text:
        return resolve_run(text)
    elsewhere: RunDir | None = None
    for one in list_runs():
        run = RunDir(one.path)
        life = liveness(run)
        if life in _GOING_HERE:
            return run
        if life in _GOING and elsewhere is None:
            elsewhere = run
    return elsewhere or resolve_run("latest")


class NotOpenedError(ValueError):
    """What was named cannot be shown, and why."""


def opened(wish: Wish) -> AttachTo | CompareRuns:
    """What was named, found: ssh asks its questions now. Raises ValueError, whose text says why it cannot be shown."""
    if isinstance(wish, Attach):
        return _attached(wish)
    if isinstance(wish, Compare):
        return _compared(wish)
    return AttachTo(played(wish.run, wish.speed, wish.at), back=wish.back)


def is_elsewhere(text: str | None) -> bool:
    """Whether a run is named on another machine. Raises ValueError for a host that cannot be one."""
    from pgs_tui.remote.address import address_of

    return bool(text) and address_of(text or "") is not None


def source_of(text: str | None, reads_past: bool = True) -> Source:
    """The run that a person means, here or on another machine, where ssh asks its questions now.

    What is read of its log first is on its way when this returns, of one that is here with `reads_past`. Raises
    ValueError, whose text says why there is none.
    """
    from pgs_tui.remote.address import address_of

    address = address_of(text) if text else None
    if address is None:
        return _source_here(text, reads_past)
    from pgs_tui.remote.attaching import attach

    try:
        return attach(address)
    except OSError as error:
        raise NotOpenedError(str(error)) from error


def _source_here(text: str | None, reads_past: bool) -> Source:
    """A run on this machine; where there is none of that name, a log of another tool."""
    try:
        run = find_run(text)
    except RunNotFoundError:
        path = Path(text).expanduser() if text else None
        if path is None or not path.exists():
            raise
        from pgs_tui.foreign.foreign_run import ForeignRun

        return ForeignRun(path)
    return LocalRun(run, past=past_of(run.events) if reads_past else None)


def source_at_once(text: str | None, reads_past: bool = True) -> Source:
    """The same, for those who do without a screen: what was not answered within FIRST_ANSWER_SECONDS is not there."""
    source = source_of(text, reads_past)
    if source.link() is None:
        return source
    from pgs_tui.remote.remote_run import RemoteRun

    assert isinstance(source, RemoteRun), "nothing else has a link"
    try:
        source.wait_for_run(FIRST_ANSWER_SECONDS)
    except OSError as error:
        source.close()
        raise NotOpenedError(str(error)) from error
    return source


def _attached(wish: Attach) -> AttachTo:
    return AttachTo(source_of(wish.run), wish.readonly, wish.back)


def played(run: str | None, speed: float | None = None, at: int | None = None) -> ReplayedRun:
    """The run of that name as it was, from after the step `at` on. Raises ValueError."""
    from pgs_tui.replaying.replayed_run import ReplayedRun

    return ReplayedRun(source_of(run, reads_past=False), speed, at)


def as_it_was(run: str | None, at: int) -> ReplayedRun:
    """The run of that name after the step `at`, for those who do without a screen. Raises ValueError."""
    from pgs_tui.replaying.replayed_run import ReplayedRun

    return ReplayedRun(source_at_once(run, reads_past=False), at=at, plays=False)


def _compared(wish: Compare) -> CompareRuns:
    return CompareRuns(_several([source_of(one) for one in wish.runs]), wish.back)


def compared_at_once(runs: Sequence[str]) -> tuple[Source, ...]:
    """The runs of these names, for those who do without a screen. Raises ValueError."""
    return _several([source_at_once(one) for one in runs])


def _several(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources, each of another run."""
    addresses = [
        str(source.run.path.resolve()) if "inspect" in source.abilities else source.address for source in sources
    ]
    twice = next((one for one in addresses if addresses.count(one) > 1), None)
    if twice is not None:
        raise NotOpenedError(f"{twice} is named twice; a run is compared with others")
    return tuple(sources)
