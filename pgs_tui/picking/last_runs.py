"""How the last run of each config went, from the registry of runs and what the list tells of each."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.events import Stamped, Start
from engine.events.portions import portion_of
from engine.events.stretches import whole_lines
from engine.rundir import Liveness, RegisteredRun, RunDir, list_runs
from pgs_tui.configs import short_name
from pgs_tui.listing.log_end import with_its_end
from pgs_tui.listing.reading import read_row

HEAD_BYTES = 256 * 1024
TAIL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run of a config. `step` and `loss` are those of its last step, None before the first."""

    id: str
    path: Path
    life: Liveness
    started: float
    step: int | None = None
    total_steps: int | None = None
    loss: float | None = None

    @property
    def is_going(self) -> bool:
        """Whether it trains now, as far as one can tell from here."""
        return self.life in ("live", "starting", "elsewhere")


def last_runs(configs: Iterable[Path]) -> dict[Path, LastRun]:
    """The newest run of each of the configs that has one.

    A run belongs to the config whose path its log names; where the log names none, to the configs of its name.
    """
    by_name: dict[str, list[Path]] = {}
    for path in configs:
        by_name.setdefault(short_name(path), []).append(path)
    found: dict[Path, LastRun] = {}
    for run in list_runs():
        waiting = [path for path in by_name.get(run.name, ()) if path not in found]
        if not waiting:
            continue
        start = _start_of(run)
        trained = _config_of(start)
        matching = [path for path in waiting if trained is None or _is_same(path, trained)]
        if matching:
            told = _told(run, start)
            found.update(dict.fromkeys(matching, told))
    return found


def _told(run: RegisteredRun, start: Start | None) -> LastRun:
    """As the list of runs tells it; of a long log that nobody has summed up yet, as its end does."""
    row = read_row(run.path, run.id)
    summary = with_its_end(row.summary, _bytes(run.path, TAIL_BYTES, from_end=True)) if row.must_sum else row.summary
    return LastRun(
        id=run.id,
        path=run.path,
        life=row.life or "unreadable",
        started=run.started,
        step=summary.step if summary else None,
        total_steps=summary.total_steps if summary and summary.total_steps else start.total_steps if start else None,
        loss=summary.loss if summary else None,
    )


def _start_of(run: RegisteredRun) -> Start | None:
    """What the engine said of itself first."""
    lines = whole_lines(_bytes(run.path, HEAD_BYTES, from_end=False))
    told = (block.event for block in portion_of(lines).blocks if isinstance(block, Stamped))
    return next((event for event in told if isinstance(event, Start)), None)


def _config_of(start: Start | None) -> Path | None:
    """The config in the command of the run; None where it does not say, or not from where its path counts."""
    try:
        words = shlex.split(start.command) if start else []
    except ValueError:
        return None
    for place, word in enumerate(words):
        flag, _, given = word.partition("=")
        if flag == "--config":
            path = Path(given or "".join(words[place + 1 : place + 2]))
            return path if path.is_absolute() else None
    return None


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # it was moved since
        return path.absolute() == other


def _bytes(run: Path, most: int, from_end: bool) -> bytes:
    try:
        with RunDir(run).events.open("rb") as file:
            if from_end:
                size = file.seek(0, 2)
                file.seek(max(size - most, 0))
            return file.read(most)
    except OSError:
        return b""
