"""The rows of the table of budgets: what is measured, and its bound on two cores."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import statistics
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from engine.rundir import RunDir
from tests.bench.watching.attached import Attached
from tests.bench.watching.in_process import appends, pans, updates
from tests.bench.watching.runs import Going, write_run

SMALL, USUAL, LARGE = (80, 24), (120, 36), (200, 50)
STATUS_LINE, PANEL, FOCUS = "pgs-tui", "╭", "╭━".encode()
CURVE = re.compile("[\u2801-\u28ff]{3}")
PATIENCE = 120.0
SETTLED = 1.5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. `found` is what is compared; None says that it never came."""

    name: str
    what: str
    found: float | None
    bound: float
    unit: str
    detail: str = ""

    @property
    def met(self) -> bool:
        """Within the bound."""
        return self.found is not None and self.found <= self.bound


@dataclass(frozen=True, slots=True)
class Place:
    """Where runs are made and kept from one use to the next, and how often what is quick is repeated."""

    folder: Path
    times: int = 7

    def run(self, steps: int, readings: bool = True) -> RunDir:
        """A finished run of so many steps."""
        return write_run(self.folder / f"done-{steps}{'' if readings else '-bare'}", steps, readings=readings)

    def attach(self, run: RunDir, size: tuple[int, int]) -> Attached:
        """Watch it in a terminal of this size."""
        return Attached(run, size, self.folder / "state")

    @contextmanager
    def going(self, steps: int, size: tuple[int, int]) -> Iterator[tuple[Attached, Going]]:
        """A run that goes on, watched in a terminal of this size once its past was read; made anew, since it grows."""
        folder = self.folder / f"going-{steps}"
        shutil.rmtree(folder, ignore_errors=True)
        run = write_run(folder, steps, total=steps + steps // 5, ended=False)
        going = Going(run, steps)
        with self.attach(run, size) as watched:
            watched.read_until_quiet(SETTLED, 20.0)
            yield watched, going
        going.close()
        shutil.rmtree(folder)


def first_frame(place: Place) -> list[Row]:
    run, frames, panels = place.run(1000), [], []
    for _ in range(place.times):
        with place.attach(run, USUAL) as watched:
            watched.read(5.0, lambda heard: PANEL.encode() in heard)
            frames.append(watched.moment(lambda rows: STATUS_LINE in rows[0]))
            panels.append(watched.moment(lambda rows: any(PANEL in row for row in rows)))
    return [
        _median("first frame", "status line and keys", frames, 300),
        _median("first frame", "panels", panels, 300),
    ]


def attach(place: Place) -> list[Row]:
    run, curves = place.run(100_000), []
    for _ in range(place.times):
        with place.attach(run, USUAL) as watched:
            watched.read(PATIENCE, lambda heard: CURVE.search(heard.decode(errors="ignore")) is not None)
            curves.append(watched.moment(shows_a_curve))
    return [_median("attach", "to 100k steps, until curves are seen", curves, 500)]


def load(place: Place) -> list[Row]:
    run, first, whole, used = place.run(200_000), [], [], []
    for _ in range(max(place.times // 2, 1)):
        with place.attach(run, USUAL) as watched:
            watched.read_until_quiet(SETTLED, PATIENCE)
            panels = watched.moment(lambda rows: any(PANEL in row for row in rows))
            curve = watched.moment(shows_a_curve)
            done = watched.moment(lambda rows: any("finished at step" in row for row in rows))
            first.append(curve - panels if curve is not None and panels is not None else None)
            whole.append(done - panels if done is not None and panels is not None else None)
            used.append(watched.cpu())
    detail = f"{statistics.median(used):.1f} s of CPU in all"
    return [
        _median("load", "200k steps (5 x 200k values): first charts after the panels", first, 150),
        _median("load", "all of it after the panels", whole, 1000, detail),
    ]


def _alone(measure: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
    """What is measured in a process of its own, which has drawn no other run before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_measured, measure, *arguments).result()


def _measured(measure: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
    return asyncio.run(measure(*arguments))


def update(place: Place) -> list[Row]:
    rows = []
    for size, bound in ((SMALL, 5.0), (LARGE, 5.0)):
        costs = _alone(updates, size, 100_000, 120_000)
        parts = f"drawn {_ms(costs.drawn):.2f}, painted {_ms(costs.painted):.2f}, p95 {_p95(costs.shown) * 1e3:.1f}"
        rows.append(Row("update", f"a new step after 100k at {_of(size)}", _ms(costs.shown), bound, "ms", parts))
    return rows


def axes(place: Place) -> list[Row]:
    found = _alone(pans, LARGE, 100_000, 120_000)
    detail = f"p95 {_p95(found.costs) * 1e3:.0f}, longest turn {_ms(found.turns):.1f}, {found.sent / 1000:.1f} KB sent"
    return [Row("axes", f"a pan after 100k steps at {_of(LARGE)}, all panels anew", _ms(found.costs), 25, "ms", detail)]


def append(place: Place) -> list[Row]:
    short, long = appends(100_000), appends(1_000_000)
    return [
        Row("append", "a step after 100k", _ms(short), 1, "ms", f"largest {max(short) * 1e3:.2f}"),
        Row("append", "a step after 1M", _ms(long), 1, "ms", f"largest {max(long) * 1e3:.2f}"),
    ]


def echo(place: Place) -> list[Row]:
    rows = []
    chance = random.Random(1)
    for size in (USUAL, LARGE):
        waits = []
        with place.going(100_000, size) as (watched, going):
            for number in range(80):
                if number % 2 == 0:
                    going.step()  # 4 a second
                watched.read(0.05 + chance.random() * 0.15)
                watched.type(b"\t")
                waits.append(watched.read(2.0, lambda heard: FOCUS in heard))
                watched.read(0.02)
        known = sorted(one for one in waits if one is not None)
        detail = f"largest {known[-1] * 1e3:.0f}" if known else ""
        if len(known) < len(waits):
            detail = f"{len(waits) - len(known)} of {len(waits)} unanswered"
        for share, bound in ((0.5, 5.0), (0.95, 16.0)):
            found = known[int(len(known) * share)] * 1e3 if len(known) == len(waits) else None
            rows.append(
                Row("echo", f"key to echo at 4 steps/s, {_of(size)}, p{share * 100:.0f}", found, bound, "ms", detail)
            )
    return rows


def rest(place: Place) -> list[Row]:
    """CPU and bytes while steps come, and while nothing does."""
    rows = []
    for size, bytes_bound in ((SMALL, 4.0), (LARGE, 15.0)):
        with place.going(2000, size) as (watched, going):
            for _ in range(4):
                going.step()
                watched.read(0.5)
            cpu, written, seconds = watched.cpu(), watched.written, watched.seconds
            for _ in range(40):
                going.step()
                watched.read(0.5)
            seconds = watched.seconds - seconds
            busy, sent = watched.cpu() - cpu, watched.written - written
            watched.read(15.0)  # until nothing that is said about the last step changes every second
            cpu, written, begin = watched.cpu(), watched.written, watched.seconds
            watched.read(30.0)
            idle, quiet = watched.cpu() - cpu, (watched.written - written) / (watched.seconds - begin)
            idle_seconds = watched.seconds - begin
        rows += [
            Row("cpu", f"2 steps/s at {_of(size)}", busy / seconds * 100, 3, "% of a core"),
            Row("cpu", f"no news at {_of(size)}", idle / idle_seconds * 100, 0.5, "% of a core", f"{quiet:.0f} B/s"),
            Row("bytes", f"2 steps/s at {_of(size)}", sent / seconds / 1000, bytes_bound, "KB/s"),
        ]
    return rows


def memory(place: Place) -> list[Row]:
    run = place.run(1_000_000, readings=False)
    with place.attach(run, LARGE) as watched:
        watched.read_until_quiet(2 * SETTLED, PATIENCE)
        done = watched.moment(lambda rows: any("finished at step" in row for row in rows))
        held = watched.memory()
        watched.type(b"+")  # all that a curve needs is there
        watched.read_until_quiet(SETTLED, 20.0)
        detail = f"all read after {done:.1f} s" if done is not None else "not all was read"
        after = watched.memory()
    return [Row("memory", "1M steps, their whole history", max(held, after), 120, "MB", detail)]


ROWS: dict[str, Callable[[Place], list[Row]]] = {
    "first": first_frame,
    "attach": attach,
    "load": load,
    "update": update,
    "axes": axes,
    "append": append,
    "echo": echo,
    "rest": rest,
    "memory": memory,
}
"""By the names that `--rows` takes."""


def shows_a_curve(rows: list[str]) -> bool:
    return any(CURVE.search(row) for row in rows)


def _median(name: str, what: str, seconds: Sequence[float | None], bound: float, detail: str = "") -> Row:
    known = [one for one in seconds if one is not None]
    if len(known) < len(seconds):
        return Row(name, what, None, bound, "ms", f"{len(seconds) - len(known)} of {len(seconds)} never came")
    spread = f"{min(known) * 1e3:.0f} to {max(known) * 1e3:.0f}"
    return Row(name, what, statistics.median(known) * 1e3, bound, "ms", ", ".join(filter(None, (spread, detail))))


def _ms(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1e3


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _of(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
