"""A run that was killed and goes on ends, bit for bit, as one that was not, where kernels add up in a fixed order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.events import Resume, Step
from engine.rundir import RunDir
from tests.train.conftest import Outcome, read_events
from tests.train.stack import BF16, RELEASE, Left, assert_same

from .machine import ENVIRONMENT

pytestmark = pytest.mark.gpu
STEPS, SAVED_AT, KILLED_AT = 12, 5, 8
SETTINGS = (
    *("--train.max_steps", STEPS, "--train.save_steps", SAVED_AT, "--train.hyperball", "true"),
    *("--data.packing", "true", "--data.max_seq_length", 256, "--train.gradient_checkpointing", "selective"),
    *BF16,
    *RELEASE,
)


def engine(config: Path, *overrides: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    arguments = map(str, ("train", "--config", config, *overrides))
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("deterministic_engine.py")), *arguments],
        env={**os.environ, **ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def outcome(done: subprocess.CompletedProcess[str], folder: Path) -> Outcome:
    [path] = folder.iterdir()
    return Outcome(done.returncode, RunDir(path), read_events(RunDir(path)))


def test_the_steps_after_a_kill_are_those_of_the_run_that_was_not_killed(config_file: Path, tmp_path: Path) -> None:
    whole_in, killed_in = tmp_path / "whole", tmp_path / "killed"
    done = engine(config_file, *SETTINGS, "--train.output_dir", whole_in)
    assert done.returncode == 0, done.stdout + done.stderr
    whole = outcome(done, whole_in)

    there = (*SETTINGS, "--train.output_dir", killed_in)
    assert engine(config_file, *there, KILLED_AT=str(KILLED_AT)).returncode == -signal.SIGKILL
    done = engine(config_file, *there, "--train.resume_from", "auto")
    assert done.returncode == 0, done.stdout + done.stderr
    resumed = outcome(done, killed_in)

    assert [event.from_step for event in resumed.of(Resume)] == [SAVED_AT]
    assert resumed.losses == whole.losses and len(whole.losses) == STEPS
    for one, other in zip(resumed.of(Step)[SAVED_AT - STEPS :], whole.of(Step)[SAVED_AT:], strict=True):
        assert (one.step, one.hidden_norm, one.grad_norm, one.rows) == (
            other.step,
            other.hidden_norm,
            other.grad_norm,
            other.rows,
        )
    ours, its = Left.by(resumed), Left.by(whole)
    assert_same(ours.weights, its.weights, "weights")
    assert_same(ours.optimizer, its.optimizer, "optimizer")
