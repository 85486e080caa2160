"""A hundred dashboards die at random moments, here and over ssh: the losses are those of a run nobody watched."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from engine.rundir import RunDir, liveness
from tests.remote.sshd import HOST, Sshd
from tests.terminal.terminal import PATIENCE, Terminal, environment, program
from tests.terminal.test_full_run import config  # noqa: F401

pytestmark = [pytest.mark.terminal, pytest.mark.xdist_group("sshd")]

KILLS = 100
AT_ONCE = 2
LONGEST_LIFE = 1.2
"""Seconds; so many of them die while they start or log in, and others once they are drawn."""
DEATHS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
KEYS = (b"\t", b"\x1b[C", b"i", b"?", b"\x1b[6~", b"w", b"3", b"l")


@contextmanager
def engine(config: Path, run: Path, variables: dict[str, str]) -> Iterator[RunDir]:  # noqa: F811
    """The real engine as long as it is needed; once it trains, all others go first at the processor."""
    words = (sys.executable, "-m", "engine", "train", "--config", str(config), "--run-dir", str(run))
    run.mkdir(parents=True)
    with (run.parent / f"{run.name}.out").open("wb") as out:
        process = subprocess.Popen(
            (*words, "--train.max_steps", "100000", "--data.eval_every", "100000"),
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        wait_for_steps(RunDir(run), 1)
        os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        yield RunDir(run)
    finally:
        process.terminate()
        process.wait()


def losses(run: RunDir) -> dict[int, float]:
    """Loss by step, exactly as it was written. Every line of the log is whole, and no step is there twice."""
    lines = run.events.read_bytes().split(b"\n")[:-1] if run.events.exists() else []
    steps = [event for event in map(json.loads, lines) if event["event"] == "step"]
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    return {step["step"]: step["loss"] for step in steps}


def wait_for_steps(run: RunDir, count: int) -> dict[int, float]:
    end = time.monotonic() + PATIENCE
    while len(found := losses(run)) < count:
        assert time.monotonic() < end, run.path.with_suffix(".out").read_text()
        time.sleep(0.1)
    return found


def test_a_hundred_killed_dashboards_change_no_loss(config: Path, tmp_path: Path, sshd: Sshd) -> None:  # noqa: F811
    chance = random.Random(0)
    variables = environment(tmp_path, PGS_TUI_SSH=sshd.ssh, XDG_CACHE_HOME=str(tmp_path / "cache"))
    with ExitStack() as engines:
        quiet, watched = (
            engines.enter_context(engine(config, tmp_path / "runs" / name, {**variables, "OMP_NUM_THREADS": "1"}))
            for name in ("20260101-000000-quiet", "20260101-000000-watched")
        )
        before = len(losses(watched))
        here, there = str(watched.path), f"{HOST}:{watched.path}"
        waiting = [here if number % 3 else there for number in range(KILLS)]
        living: list[tuple[float, str, Terminal]] = []
        drawn: Counter[str] = Counter()
        while waiting or living:
            while waiting and len(living) < AT_ONCE:
                life = chance.uniform(0, LONGEST_LIFE)
                where = waiting.pop()
                living.append((time.monotonic() + life, where, Terminal(program("attach", where), variables)))
            living.sort(key=lambda dashboard: dashboard[0])
            death, where, dashboard = living.pop(0)
            while time.monotonic() < death:
                dashboard.read(min(0.05, max(0.0, death - time.monotonic())))
                if b"step" in dashboard.output:
                    dashboard.type(chance.choice(KEYS))
            drawn[where] += b"step" in dashboard.output
            dashboard.process.send_signal(chance.choice(DEATHS))
            dashboard.process.wait(PATIENCE)
            dashboard.close()
        assert liveness(watched) == "live" and drawn[here] > 0 and drawn[there] > 0, drawn
        found = wait_for_steps(watched, before + 1)
        undisturbed = wait_for_steps(quiet, len(found))
        assert found == {step: undisturbed[step] for step in found}
        wait_until_nobody_follows(watched)


def wait_until_nobody_follows(run: RunDir) -> None:
    """Wait until no `tail` of a dead dashboard is left on the far side."""
    end = time.monotonic() + PATIENCE
    while followers := [place for place in Path("/proc").glob("[0-9]*") if is_following(place, run)]:
        assert time.monotonic() < end, f"still running: {followers}"
        time.sleep(0.1)


def is_following(place: Path, run: RunDir) -> bool:
    try:
        words = (place / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"tail") and os.fsencode(run.events) in words
