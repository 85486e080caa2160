"""What a run on another machine costs: the real program and a real sshd, with a line of 100 ms round trips between.

    PYTHONPATH=. python tests/bench/remote.py [--times 5] [--steps 100000] [--delay 50] [--runs FOLDER] [--out FILE]

Prints each measurement, the first chart with its bound, past which the exit code is 1. The time counts from the moment
when sshd says that it lets the person in. Both machines are this one, so their work shares its cores; the line is a
proxy of the tests, which counts the bytes of ssh as they would go through a network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.rundir import RunDir
from pgs_tui.remote.ssh import Connection
from tests.bench.watching.attached import Attached
from tests.bench.watching.rows import CURVE, PATIENCE, USUAL, shows_a_curve
from tests.bench.watching.runs import Going, write_run
from tests.remote.proxy import Proxy, proxy_to
from tests.remote.sshd import HOST, Sshd, serving
from tests.remote.watching import Watched

BOUND_MS = 1000
LIVE_EVENTS, LIVE_EVERY = 300, 0.03
CUTS = 5


@dataclass(frozen=True, slots=True)
class Found:
    """One measurement; `values` are all of them, of which `value` is the median."""

    what: str
    value: float
    unit: str
    values: tuple[float, ...]
    bound: float | None = None

    @property
    def met(self) -> bool:
        """Within the bound, where there is one."""
        return self.bound is None or self.value <= self.bound


def found(what: str, unit: str, values: list[float], bound: float | None = None) -> Found:
    return Found(what, statistics.median(values), unit, tuple(values), bound)


@dataclass(frozen=True, slots=True)
class Place:
    """A machine behind a line, and a folder for everything that is made."""

    folder: Path
    sshd: Sshd
    proxy: Proxy

    @property
    def environment(self) -> dict[str, str]:
        """Of a program that reaches the machine; its mirrors are kept in here."""
        return {"PGS_TUI_SSH": self.sshd.through(self.proxy.port), "XDG_CACHE_HOME": str(self.folder / "cache")}

    @contextmanager
    def attached(self, run: RunDir) -> Iterator[Attached]:
        """The program looks at the run, from its login on."""
        words = ("attach", f"{HOST}:{run.path}")
        with Attached(run, USUAL, self.folder / "state", words, self.environment) as program:
            yield program
        self.log_out()

    def log_out(self) -> None:
        """End the connection, so that the next one logs in."""
        Connection(HOST, tuple(self.environment["PGS_TUI_SSH"].split())).drop()

    def forget(self) -> None:
        """Remove what was fetched."""
        for file in sorted((self.folder / "cache").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()


class Login:
    """Knows when sshd let somebody in, as `time.perf_counter` tells it."""

    def __init__(self, sshd: Sshd) -> None:
        self.at: float | None = None
        self._sshd = sshd
        self._before = sshd.log.count("Accepted")
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while self._sshd.log.count("Accepted") == self._before:
            time.sleep(0.002)
        self.at = time.perf_counter()


def first_charts(place: Place, run: RunDir, times: int, kept: bool) -> tuple[list[float], list[float]]:
    """Milliseconds from the login to the first chart, and KB that came until then."""
    milliseconds, kilobytes = [], []
    for _ in range(times):
        if not kept:
            place.forget()
        login, before = Login(place.sshd), place.proxy.down
        with place.attached(run) as program:
            program.read(PATIENCE, lambda heard: CURVE.search(heard.decode(errors="ignore")) is not None)
            kilobytes.append((place.proxy.down - before) / 1e3)
            curve = program.moment(shows_a_curve)
            assert curve is not None and login.at is not None, "no chart came"
            milliseconds.append((program.begin + curve - login.at) * 1e3)
            if kept:
                program.read_until_quiet(1.5, PATIENCE)
    return milliseconds, kilobytes


def measure(place: Place, steps: int, times: int) -> Iterator[Found]:
    """All rows."""
    run = write_run(place.folder / f"run-{steps}", steps)
    charts, sizes = first_charts(place, run, times, kept=False)
    yield found(f"login to the first chart of {steps:,} steps", "ms", charts, BOUND_MS)
    yield found("through the line until then", "KB", sizes)
    place.forget()
    yield from the_whole_past(place, run)
    charts, sizes = first_charts(place, run, times, kept=True)
    yield found("login to the first chart of a run that was looked at before", "ms", charts, BOUND_MS)
    with tempfile.TemporaryDirectory() as folder:
        yield from while_it_goes_on(place, write_run(Path(folder) / "going", 1000, ended=False))


def the_whole_past(place: Place, run: RunDir) -> Iterator[Found]:
    """How long all of it takes, and how much that is."""
    with watched(place, run) as seen:
        begin, before = time.perf_counter(), place.proxy.down
        seen.until(lambda: bool(seen.updates) and not seen.now.loading)
        size = run.events.stat().st_size
        yield found("first look to the whole past", "s", [time.perf_counter() - begin])
        yield found("the whole past through the line", "MB", [(place.proxy.down - before) / 1e6])
        yield found("the same on the disk", "MB", [size / 1e6])


def while_it_goes_on(place: Place, run: RunDir) -> Iterator[Found]:
    """What a live run costs, and how it comes back."""
    writer, last = Going(run, 1000), 1000
    with watched(place, run) as seen:
        seen.until(lambda: seen.steps[-1:] == [last])
        before, size = place.proxy.down, run.events.stat().st_size
        delays = []
        for _ in range(LIVE_EVENTS):
            writer.step()
            last += 1
            delays.append(seconds_to(seen, last) * 1e3)
            time.sleep(LIVE_EVERY)
        yield found("a live event through the line", "B", [(place.proxy.down - before) / LIVE_EVENTS])
        yield found("a live event in the log", "B", [(run.events.stat().st_size - size) / LIVE_EVENTS])
        yield found("written there to known here", "ms", delays)
        lost, back = [], []
        for _ in range(CUTS):
            begin = time.perf_counter()
            place.proxy.cut(refuse=True)
            seen.until(lambda: seen.states[-1] == "lost")
            lost.append((time.perf_counter() - begin) * 1e3)
            writer.step()
            last += 1
            place.proxy.mend()
            seen.source.try_now()
            back.append(seconds_to(seen, last) * 1e3)
            seen.until(lambda: seen.states[-1] == "up")
        assert seen.steps == list(range(1, last + 1)), "an event is missing, or came twice"
        yield found("cut to known as lost", "ms", lost)
        yield found("tried again to the events of meanwhile", "ms", back)
    writer.close()


def seconds_to(seen: Watched, step: int) -> float:
    """How long it takes until that step is the newest."""
    begin = time.perf_counter()
    seen.until(lambda: seen.steps[-1] == step)
    return time.perf_counter() - begin


@contextmanager
def watched(place: Place, run: RunDir) -> Iterator[Watched]:
    """The run as a dashboard's thread sees it, in this process."""
    os.environ.update(place.environment)
    seen = Watched(run.path)
    yield seen
    seen.close()
    place.log_out()


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.runs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        before = os.getloadavg()[0]
        with serving(Path(temporary) / "sshd") as sshd, proxy_to(sshd.port, options.delay / 1e3) as proxy:
            rows = []
            for row in measure(Place(folder, sshd, proxy), options.steps, options.times):
                rows.append(row)
                print(as_text(row), flush=True)
        load = (before, os.getloadavg()[0])
    if options.out is not None:
        facts = {"delay_ms": options.delay, "cores": os.cpu_count(), "python": platform.python_version(), "load": load}
        text = json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=1)
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0 if all(row.met for row in rows) else 1


def as_text(row: Found) -> str:
    spread = f"{min(row.values):.0f} to {max(row.values):.0f}" if len(row.values) > 1 else ""
    verdict = "" if row.bound is None else f"of {row.bound:g} {'met' if row.met else 'MISSED'}"
    return f"{row.what:60} {row.value:8.1f} {row.unit:3} {verdict:16} {spread}".rstrip()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="how often each start is repeated")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--delay", type=float, default=50.0, help="milliseconds each way")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the runs there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all that was found as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
