"""Several recipes at once: they load and compile side by side, then each is measured while the others stand still.

Most of a short run is its start, which keeps the host's cores busy and the GPU idle. All runs of a group are in the
GPU's memory at the same time, so they have to fit there together.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.bench.training.recipes import Recipe
from tests.bench.training.runner import ENOUGH, WARM_UP, Ran, engine_process, last_step, read_events
from tests.bench.training.workload import write_workload

AFTER_STANDING = 2
"""Steps after a standstill that do not count: the first holds the standstill, the second fills caches again."""
_SPARE_STEPS = 8
"""Taken before the run is seen to have had enough."""
_POLL_SECONDS = 0.05


class Waits(Protocol):
    """A run of another kind, which waits behind its warm-up by itself."""

    def is_warm(self) -> bool: ...


Alone = Callable[[], AbstractContextManager[object]]


@dataclass
class Started:
    """A run whose process is there."""

    recipe: Recipe
    process: subprocess.Popen[bytes]
    events: Path
    printed: Path
    stood_at: int | None = None
    """The last step that it had told when it was made to stand still."""

    def step(self) -> int:
        return last_step(read_events(self.events))

    def stand_still(self) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP)
        self.stood_at = self.step()

    def go_on(self) -> None:
        os.killpg(self.process.pid, signal.SIGCONT)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ran(self, ended: str) -> Ran:
        printed = self.printed.read_text(errors="replace")[-4000:]
        warm_up = WARM_UP if self.stood_at is None else self.stood_at + AFTER_STANDING
        return Ran(tuple(read_events(self.events)), ended, printed, warm_up)


def run_together(
    recipes: Sequence[Recipe],
    shape: str,
    steps: int,
    timeout: float,
    alone: Alone = nullcontext,
    others: Sequence[Waits] = (),
) -> Iterator[tuple[Recipe, Ran]]:
    """Each recipe with `steps` measured steps, in order. `alone` is entered while one is measured.

    None is measured before the `others` are warm, or before the time for that is up.

    A run that is not warm after `timeout` seconds, or that takes as long to be measured, ends without figures.
    """
    with ExitStack() as stack:
        runs = [stack.enter_context(started(recipe, shape, steps)) for recipe in recipes]
        stand_when_warm(runs, time.monotonic() + timeout, others)
        for run in runs:
            with alone():
                ended = measure(run, steps, timeout)
                run.end()
            yield run.recipe, run.ran(ended)


@contextmanager
def started(recipe: Recipe, shape: str, steps: int) -> Iterator[Started]:
    """The run, loading; its process is ended with the block."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write_workload(folder, recipe, shape, WARM_UP + AFTER_STANDING + steps + _SPARE_STEPS)
        run_dir, printed = folder / "run", folder / "printed.txt"
        with engine_process(recipe, config, run_dir, printed) as process:
            yield Started(recipe, process, run_dir / "events.jsonl", printed)


def stand_when_warm(runs: Sequence[Started], deadline: float, others: Sequence[Waits] = ()) -> None:
    """Let each run get over its warm-up, then stand still; the others besides."""
    warming = list(runs)
    while (warming or not all(other.is_warm() for other in others)) and time.monotonic() < deadline:
        for run in list(warming):
            if run.process.poll() is not None:
                warming.remove(run)
            elif run.step() >= WARM_UP:
                run.stand_still()
                warming.remove(run)
        time.sleep(_POLL_SECONDS)


def measure(run: Started, steps: int, timeout: float) -> str:
    """Let this run alone go on for its steps; returns why that is over."""
    if run.process.poll() is not None:
        return f"exit code {run.process.returncode} after step {run.step()}"
    if run.stood_at is None:
        return f"not warm in time, at step {run.step()}"
    wanted, deadline = run.stood_at + AFTER_STANDING + steps, time.monotonic() + timeout
    run.go_on()
    while time.monotonic() < deadline:
        if run.step() >= wanted:
            return ENOUGH
        if run.process.poll() is not None:
            return f"exit code {run.process.returncode} after step {run.step()}"
        time.sleep(_POLL_SECONDS)
    return f"ended after {timeout:.0f} s at step {run.step()}"
