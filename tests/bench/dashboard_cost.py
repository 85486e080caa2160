"""What an attached dashboard costs a run: one run, in which the dashboard is on and off in turns.

    PYTHONPATH=. python tests/bench/dashboard_cost.py [--recipe mixers_2x2048] [--pairs 8] [--window 15] [--out FILE]

`pgs-tui attach` runs in a terminal of 120x36 that is read all the time. Off, its process is stopped (SIGSTOP), so that
turning it on needs no start. A pair is a window off and one on, next to each other; which of them is first changes from
pair to pair, so that a drift of the machine falls out. The steps in which it is switched belong to no window.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bench.training.machine import describe_machine
from tests.bench.training.recipes import recipe_named
from tests.bench.training.runner import WARM_UP, bench_environment, engine_process, last_step, read_events
from tests.bench.training.workload import PROJECT, QWEN3_5_4B, SHAPES, fitting, read_keys, write_workload

COLUMNS, LINES = 120, 36
FIRST_PANEL = "╭".encode()
SWITCHING_STEPS = 2
"""On a GPU a step is told with the gate of the next one; the step that is under way then knows both states."""
PATIENCE = 300.0
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens a second of its steps, and the dashboard's seconds of CPU in it."""

    is_on: bool
    tok_s: tuple[float, ...]
    seconds: float
    cpu: float


def main() -> None:
    options = parse()
    windows = measure(options)
    found = summary(windows) | {
        "recipe": options.recipe,
        "window_steps": options.window,
        "machine": describe_machine(),
    }
    found["device"] = found["machine"]["gpu"] or "CPU"
    print(json.dumps({key: value for key, value in found.items() if key != "windows"}, indent=1))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="mixers_2x2048")
    parser.add_argument("--shape", choices=SHAPES, default=QWEN3_5_4B)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--window", type=int, default=15, metavar="STEPS")
    parser.add_argument("--out", type=Path, metavar="FILE")
    return parser.parse_args()


def measure(options: argparse.Namespace) -> list[Window]:
    recipe = fitting(recipe_named(options.recipe), options.shape).with_keys(read_keys(options.set))
    steps = WARM_UP + 2 * options.pairs * (options.window + SWITCHING_STEPS + 2) + 10_000  # more than are needed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write_workload(folder, recipe, options.shape, steps)
        run_dir, printed = folder / "run", folder / "printed.txt"
        with engine_process(recipe, config, run_dir, printed) as engine:
            follow = Follower(run_dir / "events.jsonl", engine)
            follow.wait_for(WARM_UP)
            with dashboard(run_dir, bench_environment(folder)) as process:
                follow.wait_for(follow.last + WARM_UP)  # it has read what was there, and is drawn
                return [window(is_on, options.window, follow, process) for is_on in order(options.pairs)]


def order(pairs: int) -> list[bool]:
    """Off and on in each pair, the other way round in every second one."""
    return [is_on for pair in range(pairs) for is_on in ((False, True) if pair % 2 == 0 else (True, False))]


class Follower:
    """Waits for steps of the run."""

    def __init__(self, path: Path, engine: subprocess.Popen[bytes]) -> None:
        self._path, self._engine = path, engine
        self.last = 0

    def wait_for(self, step: int) -> list[dict[str, Any]]:
        """All steps, once this one is told."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._engine.poll() is None:
            events = read_events(self._path)
            self.last = last_step(events)
            if self.last >= step:
                return [event for event in events if event["event"] == "step"]
            time.sleep(0.05)
        raise SystemExit(f"the run came to step {self.last}, not to {step}")


def window(is_on: bool, steps: int, follow: Follower, process: psutil.Process) -> Window:
    """Switch, and take the steps after those in which it was switched."""
    process.send_signal(signal.SIGCONT if is_on else signal.SIGSTOP)
    first = follow.last + SWITCHING_STEPS
    begin, cpu = time.monotonic(), cpu_seconds(process)
    told = follow.wait_for(first + steps)
    speeds = [step["tok_s"] for step in told if first < step["step"] <= first + steps]
    return Window(is_on, tuple(speeds), time.monotonic() - begin, cpu_seconds(process) - cpu)


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def dashboard(run_dir: Path, environment: dict[str, str]) -> Iterator[psutil.Process]:
    """`pgs-tui attach` in a terminal whose output is read; drawn when the block begins, gone at its end."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "pgs_tui", "attach", str(run_dir)],
        cwd=PROJECT,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment | {"TERM": "xterm-256color", "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    os.close(slave)
    is_drawn = threading.Event()
    threading.Thread(target=read_all, args=(master, is_drawn), daemon=True).start()
    try:
        if not is_drawn.wait(PATIENCE):
            raise SystemExit("the dashboard drew no panel")
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def read_all(master: int, is_drawn: threading.Event) -> None:
    """Read what the dashboard draws, as a terminal does."""
    with contextlib.suppress(OSError):  # the other end is closed
        while data := os.read(master, 65536):
            if FIRST_PANEL in data:
                is_drawn.set()


def summary(windows: Sequence[Window]) -> dict[str, Any]:
    """The speed with the dashboard as a share of that without, and how sure that is."""
    on = [one for one in windows if one.is_on]
    off = [one for one in windows if not one.is_on]
    shares = [
        statistics.median(with_it.tok_s) / statistics.median(without.tok_s)
        for with_it, without in zip(on, off, strict=True)
    ]
    return {
        "share": statistics.fmean(shares),
        "share_95": interval(shares),
        "shares": shares,
        "pairs": len(shares),
        "tok_s_on": statistics.median(speed for one in on for speed in one.tok_s),
        "tok_s_off": statistics.median(speed for one in off for speed in one.tok_s),
        "dashboard_cpu_seconds": sum(one.cpu for one in on),
        "dashboard_cpu_share": sum(one.cpu for one in on) / sum(one.seconds for one in on),
        "windows": [{"on": one.is_on, "tok_s": one.tok_s, "cpu": one.cpu} for one in windows],
    }


def interval(shares: Sequence[float]) -> list[float]:
    """95 % of the means of pairs drawn again and again from these."""
    draw = random.Random(0)
    means = sorted(statistics.fmean(draw.choices(shares, k=len(shares))) for _ in range(RESAMPLES))
    return [means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]]


if __name__ == "__main__":
    main()
