"""A real run of the quickstart's model: followed while it trains, then read as a run and as the log of its console."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.monitoring.conftest import Monitor

CONFIG = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
STEPS = 3

pytestmark = pytest.mark.xdist_group("followed run")  # one run for them all


@dataclass(frozen=True)
class Followed:
    run: Path
    console: str
    told: list[dict[str, Any]]
    exit_code: int


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    """The run, what it printed, and what `pgs monitor --follow --json` told of it."""
    folder = tmp_path_factory.mktemp("followed")
    run = folder / "run"
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    keys = {
        "--train.max_steps": STEPS,
        "--train.logging_steps": 1,
        "--train.per_device_batch_size": 2,
        "--data.eval_every": 2,
        "--data.eval_samples": 2,
    }
    flags = [str(word) for pair in keys.items() for word in pair]
    program = [sys.executable, "-m", "engine"]
    train = subprocess.Popen(
        [*program, "train", "--config", str(CONFIG), "--run-dir", str(run), *flags],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while not (run / "events.jsonl").exists() and train.poll() is None:
        time.sleep(0.02)
    monitor = subprocess.run(
        [*program, "monitor", str(run), "--follow", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    console, _ = train.communicate(timeout=60)
    assert train.returncode == 0, console
    told = [json.loads(line) for line in monitor.stdout.splitlines()]
    return Followed(run, console, told, monitor.returncode)


def test_following_begins_with_the_state_tells_the_changes_and_ends_with_the_run(followed: Followed) -> None:
    first, *changes, last = followed.told
    assert first["state"] in ("starting", "running") and first["kind"] == "run"
    words = [change["words"] for change in changes]
    assert "training" in words and any(word and word.startswith("eval ") for word in words)
    assert words[-1].startswith(f"finished at step {STEPS}")
    assert (last["state"], last["step"], last["total_steps"]) == ("finished", STEPS, STEPS)
    assert last["healthy"] and followed.exit_code == 0


def test_a_run_and_the_log_of_its_console_are_told_alike(followed: Followed, monitor: Monitor, tmp_path: Path) -> None:
    log = tmp_path / "nohup.out"
    log.write_text(followed.console)
    run_code, run = monitor(followed.run)
    log_code, of_log = monitor(log)
    assert run_code == log_code == 0
    assert (run["kind"], of_log["kind"]) == ("run", "log")
    for key in ("state", "step", "total_steps", "skipped", "health", "reason", "incidents"):
        assert run[key] == of_log[key], key
    for key in ("loss", "lr", "tok_s", "grad_norm", "dt"):
        assert of_log[key] == pytest.approx(run[key], rel=0.01), key
    assert of_log["eval"]["loss"] == pytest.approx(run["eval"]["loss"], rel=0.5)


def test_a_file_of_a_run_means_the_run(followed: Followed, capsys: pytest.CaptureFixture[str]) -> None:
    from engine.cli import main

    assert main(["monitor", str(followed.run / "console.log"), "--brief"]) == 0
    out, err = capsys.readouterr()
    assert "belongs to the run" in err
    assert "finished" in out and out.count("\n") == 1 and out.endswith("ok\n")
