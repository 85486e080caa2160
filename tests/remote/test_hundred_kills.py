"""A hundred dashboards die at random moments, here and over ssh, and the terminal of the run's own start is gone: the
losses are those of a run that nobody watched."""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from engine.rundir import RunDir, liveness, read_run_info
from tests.remote.nursery import nursery
from tests.remote.sshd import HOST, Sshd
from tests.terminal.terminal import PATIENCE, Terminal, environment
from tests.terminal.test_full_run import config  # noqa: F401

pytestmark = [pytest.mark.terminal, pytest.mark.xdist_group("sshd")]

KILLS = 100
AT_ONCE = 2
LONGEST_LIFE = 0.5
"""Seconds; so many of them die while they start or log in, and others once they are drawn."""
DEATHS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
KEYS = (b"\t", b"\x1b[C", b"?", b"\x1b[6~", b"3", b"l", b"t")


@contextmanager
def trained(config: Path, runs: Sequence[RunDir], variables: dict[str, str]) -> Iterator[None]:  # noqa: F811
    """Real engines, started with nohup in a terminal that is gone soon; all others go first at the processor."""
    shell = Terminal(("bash", "--norc", "-i"), {**variables, "OMP_NUM_THREADS": "1", "PS1": "ready> "})
    shell.wait_for("ready>")
    try:
        for run in runs:
            words = (sys.executable, "-m", "engine", "train", "--config", str(config), "--run-dir", str(run.path))
            overrides = ("--train.max_steps", "100000", "--data.eval_every", "100000")
            shell.type(f"nohup {' '.join((*words, *overrides))} > {run.path}.out 2>&1 &\n".encode())
        for run in runs:
            wait_for_steps(run, 1)
        os.killpg(shell.process.pid, signal.SIGHUP)
        for run in runs:
            os.killpg(os.getpgid(pid_of(run)), signal.SIGHUP)  # as the shell and the system do to a terminal's jobs
            os.setpriority(os.PRIO_PROCESS, pid_of(run), 19)
        shell.close()
        yield
    finally:
        shell.close()
        for run in runs:
            os.kill(pid_of(run), signal.SIGTERM)
        for run in runs:
            wait_until(partial(has_stopped, run), run)


def has_stopped(run: RunDir) -> bool:
    return liveness(run) == "stopped"


def pid_of(run: RunDir) -> int:
    info = read_run_info(run)
    assert info is not None and info.started_by == "nohup"
    return info.pid


def losses(run: RunDir) -> dict[int, float]:
    """Loss by step, exactly as it was written. Every line of the log is whole, and no step is there twice."""
    lines = run.events.read_bytes().split(b"\n")[:-1] if run.events.exists() else []
    steps = [event for event in map(json.loads, lines) if event["event"] == "step"]
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    return {step["step"]: step["loss"] for step in steps}


def wait_for_steps(run: RunDir, count: int) -> dict[int, float]:
    wait_until(lambda: len(losses(run)) >= count, run)
    return losses(run)


def wait_until(holds: Callable[[], bool], run: RunDir) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, Path(f"{run.path}.out").read_text()
        time.sleep(0.1)


def test_a_hundred_killed_dashboards_change_no_loss(config: Path, tmp_path: Path, sshd: Sshd) -> None:  # noqa: F811
    chance = random.Random(0)
    variables = environment(tmp_path, PGS_TUI_SSH=sshd.ssh, XDG_CACHE_HOME=str(tmp_path / "cache"))
    quiet, watched = (RunDir(tmp_path / f"20260101-000000-{name}") for name in ("quiet", "watched"))
    with trained(config, (quiet, watched), variables), nursery(variables) as born:
        before = len(losses(watched))
        here, there = str(watched.path), f"{HOST}:{watched.path}"
        waiting = [here if number % 3 else there for number in range(KILLS)]
        living: list[tuple[float, str, Terminal]] = []
        drawn: Counter[str] = Counter()
        while waiting or living:
            while waiting and len(living) < AT_ONCE:
                life = chance.uniform(0, LONGEST_LIFE)
                where = waiting.pop()
                living.append((time.monotonic() + life, where, born.terminal("attach", where)))
            living.sort(key=lambda dashboard: dashboard[0])
            death, where, dashboard = living.pop(0)
            if where not in waiting and not drawn[where]:  # a slow machine: one at least dies while it is looked at
                dashboard.wait_for("step")
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
        wait_until(lambda: not any(is_following(place, watched) for place in Path("/proc").glob("[0-9]*")), watched)


def is_following(place: Path, run: RunDir) -> bool:
    """Whether this process is a `tail` that a dead dashboard left behind on the far side."""
    try:
        words = (place / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"tail") and os.fsencode(run.events) in words
