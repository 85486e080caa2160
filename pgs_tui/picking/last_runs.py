"""How the last run of each config went, from the registry of runs and the ends of their logs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.events import Start, Step
from engine.events.codec import BadLineError, decode
from engine.events.types import Event
from engine.rundir import Liveness, RegisteredRun, RunDir, list_runs, liveness
from pgs_tui.configs import short_name

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
        start = next((event for event in _first_events(run.path) if isinstance(event, Start)), None)
        trained = _config_of(start)
        matching = [path for path in waiting if trained is None or _is_same(path, trained)]
        if matching:
            told = _told(run, start)
            found.update(dict.fromkeys(matching, told))
    return found


def _told(run: RegisteredRun, start: Start | None) -> LastRun:
    step = next((event for event in _last_events(run.path) if isinstance(event, Step)), None)
    return LastRun(
        id=run.id,
        path=run.path,
        life=liveness(RunDir(run.path)),
        started=run.started,
        step=step.step if step else None,
        total_steps=start.total_steps if start else None,
        loss=step.loss if step else None,
    )


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


def _first_events(run: Path) -> Iterator[Event]:
    yield from _events(_bytes(run, HEAD_BYTES, from_end=False).split(b"\n")[:-1])


def _last_events(run: Path) -> Iterator[Event]:
    """The events at the end of the log, the last one first."""
    yield from _events(reversed(_bytes(run, TAIL_BYTES, from_end=True).split(b"\n")[:-1]))


def _events(lines: Iterable[bytes]) -> Iterator[Event]:
    for text in lines:
        try:
            stamped = decode(text)
        except BadLineError:  # cut at the border of what was read, or by a full disk
            continue
        if stamped is not None:
            yield stamped.event


def _bytes(run: Path, most: int, from_end: bool) -> bytes:
    try:
        with RunDir(run).events.open("rb") as file:
            if from_end:
                size = file.seek(0, 2)
                file.seek(max(size - most, 0))
            return file.read(most)
    except OSError:
        return b""
