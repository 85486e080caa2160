"""Runs a recipe in a process of its own for so many steps, and returns what its event log says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.training.recipes import Recipe
from tests.bench.training.workload import PROJECT, write_workload

ENOUGH = "ended on purpose after its steps; nothing was saved"
WARM_UP = 4
"""Steps that compile, tune and fill caches; they count in no figure but the peak of memory."""
WARM = "warm: waiting"
"""What a run that waits behind its warm-up says."""
_POLL_SECONDS = 0.1
_SPARE_STEPS = 2
"""Steps that the run could take still when it is ended, so that it never begins to save."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What is left of a run: its events, how it ended, and the end of what it printed."""

    events: tuple[dict[str, Any], ...]
    ended: str
    printed: str
    warm_up: int = WARM_UP
    """The last step that counts in no figure but the peak of memory."""

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]


def run_recipe(recipe: Recipe, shape: str, steps: int, timeout: float) -> Ran:
    """Train the recipe until the event of step `steps` is there, then end its process: nothing else is of interest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write_workload(folder, recipe, shape, steps + _SPARE_STEPS)
        run_dir, printed = folder / "run", folder / "printed.txt"
        events = run_dir / "events.jsonl"
        with engine_process(recipe, config, run_dir, printed) as process:
            ended = _wait_for_step(process, events, steps, timeout)
        return Ran(tuple(read_events(events)), ended, printed.read_text(errors="replace")[-4000:])


@contextmanager
def engine_process(recipe: Recipe, config: Path, run_dir: Path, printed: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The engine at work on the config; at the end of the block its process is killed and waited for."""
    cap = ["tests.bench.training.capped", str(recipe.card)] if recipe.card else ["engine"]
    command = [sys.executable, "-m", *cap, "train", "--config", str(config), "--run-dir", str(run_dir)]
    environment = bench_environment(run_dir.parent) | dict(recipe.environment)
    with printed.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # it ended by itself
                os.killpg(process.pid, signal.SIGKILL)  # the compiler's helpers too
            process.wait()


def bench_environment(state: Path) -> dict[str, str]:
    """This process's environment; runs are listed in `state` and not among the user's own."""
    path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "XDG_STATE_HOME": str(state), "PGS_DATA_CACHE": "off"}


def _wait_for_step(process: subprocess.Popen[bytes], events: Path, step: int, timeout: float) -> str:
    """Why the waiting is over."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if last_step(read_events(events)) >= step:
            return ENOUGH
        if process.poll() is not None:
            return f"exit code {process.returncode} after step {last_step(read_events(events))}"
        time.sleep(_POLL_SECONDS)
    return f"ended after {timeout:.0f} s at step {last_step(read_events(events))}"


def read_events(path: Path) -> list[dict[str, Any]]:
    """The complete lines of an event log; none where there is no log yet."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


def last_step(events: Sequence[dict[str, Any]]) -> int:
    return max((event["step"] for event in events if event["event"] == "step"), default=0)
