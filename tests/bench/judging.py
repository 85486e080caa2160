"""What it costs to judge steps and to read logs, in seconds of CPU.

    PYTHONPATH=. python tests/bench/judging.py [--steps 100000] [--times 3]

The same file measures an older version: `git archive VERSION engine | tar x -C FOLDER`, then PYTHONPATH=FOLDER in place
of PYTHONPATH=. ; the ratio holds where absolute times drift.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.cli import main as pgs
from engine.events.console import format_step
from engine.events.foreign.recognised import recognised
from engine.events.types import Stamped, Step
from engine.foreign.judged import ForeignEvents
from engine.foreign.lines import line_of, said_of
from engine.health.steps_watch import StepsWatch

JUDGED = 20_000


def steps(count: int) -> list[Step]:
    """A run that goes well."""
    chance = random.Random(1)
    return [
        Step(
            step=number,
            epoch=number / 1000,
            loss=2 + 3 * math.exp(-number / 2000) + chance.gauss(0, 0.1),
            lr=1e-4,
            grad_norm=1 + chance.gauss(0, 0.1) ** 2,
            dt=0.5 + chance.random() * 0.05,
            tokens=1000 + number % 50,
            slots=1080,
            loss_tokens=500,
            tok_s=2000.0,
        )
        for number in range(1, count + 1)
    ]


def as_dict(step: Step) -> str:
    """As Hugging Face's Trainer prints a step."""
    named = {"loss": step.loss, "grad_norm": step.grad_norm, "learning_rate": step.lr, "epoch": step.epoch}
    return str({**{name: round(value or 0.0, 6) for name, value in named.items()}, "step": step.step})


def judge(events: Iterable[Stamped]) -> None:
    watch = StepsWatch(is_foreign=True)
    for stamped in events:
        watch.take(stamped)


def monitor(log: Path) -> None:
    """`pgs monitor LOG`, its output thrown away."""
    with contextlib.redirect_stdout(io.StringIO()):
        pgs(["monitor", str(log)])


def mirror(log: Path) -> None:
    """What the dashboard's reader of another tool's log does: read, judge, write as the log of a run."""
    events = ForeignEvents(recognised(log))
    more = True
    while more:
        batch = events.poll()
        for stamped in batch.events:
            line_of(stamped)
            said_of(stamped.event)
        more = batch.more


def seconds(work: Callable[[], None], times: int) -> str:
    taken = []
    for _ in range(times):
        gc.collect()
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return f"{statistics.median(taken):6.2f} s ({min(taken):.2f} to {max(taken):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    run = steps(options.steps)
    told = [Stamped(1000.0 + step.step, step) for step in run[:JUDGED]]
    print(f"judging {len(told):,} steps        {seconds(lambda: judge(told), options.times)}")
    with tempfile.TemporaryDirectory() as folder:
        console, dicts = Path(folder, "console.log"), Path(folder, "dicts.log")
        console.write_text("".join(f"{format_step(step)}\n" for step in run))
        dicts.write_text("".join(f"{as_dict(step)}\n" for step in run))
        print(f"pgs monitor, console lines    {seconds(lambda: monitor(console), options.times)}")
        print(f"pgs monitor, dicts            {seconds(lambda: monitor(dicts), options.times)}")
        print(f"mirroring a log of dicts      {seconds(lambda: mirror(dicts), options.times)}")


if __name__ == "__main__":
    main()
