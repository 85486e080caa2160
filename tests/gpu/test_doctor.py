"""The doctor finds this machine well: every check of it, with a config of a small model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .machine import ENVIRONMENT

pytestmark = pytest.mark.gpu
NOT_OF_THE_GPU = {"terminal", "versions"}
"""What they find depends on how the tests are started: in a pipe, or from a source tree that is not installed."""


def test_no_check_fails_and_none_is_left_out(config_file: Path) -> None:
    packed = ["--data.packing", "true", "--data.max_seq_length", "256", "--model.compile", "true"]
    done = subprocess.run(
        [sys.executable, "-m", "engine", "doctor", "--config", str(config_file), "--json", *packed],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    checks = {check.pop("name"): check for check in json.loads(done.stdout)["checks"]}
    wrong = {name: check for name, check in checks.items() if check["status"] in ("failed", "skipped")}
    assert wrong == {}
    warned = {name: check for name, check in checks.items() if check["status"] == "warning"}
    assert warned.keys() <= NOT_OF_THE_GPU, warned
    assert done.returncode == 0
