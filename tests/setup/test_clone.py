"""The first five minutes of a new user: clone, one command, a real fine-tune."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.setup.conftest import REPOSITORY

SHORT_RUN = (
    *("--train.max_steps", "3", "--train.warmup_steps", "1", "--train.logging_steps", "1"),
    "--data.eval_samples=4",
)

# What a fresh machine has not: our own environment, a home with caches, settings of this test run.
_OURS = ("PYTHON", "VIRTUAL_ENV", "XDG_", "HF_", "PYTEST_", "OMP_")


def _fresh_environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    own_programs = str(REPOSITORY / ".venv")
    path = [entry for entry in kept["PATH"].split(os.pathsep) if not entry.startswith(own_programs)]
    return kept | {"HOME": str(home), "PATH": os.pathsep.join(path)}


@pytest.mark.clone
@pytest.mark.needs("git")
def test_a_clone_trains_after_one_command(tmp_path: Path) -> None:
    home, clone = tmp_path / "home", tmp_path / "a clone"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
    try:
        done = subprocess.run(
            ["./run.sh", *SHORT_RUN],
            cwd=clone,
            env=_fresh_environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        assert "training on the CPU" in done.stderr or "GPU" in done.stderr
        for step in (1, 2, 3):
            assert f"step={step}  loss=" in done.stdout
        status = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
        assert status.stdout == "", "a start leaves nothing that git would want to add"
    finally:
        shutil.rmtree(clone / ".venv", ignore_errors=True)
