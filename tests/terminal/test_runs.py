"""The list of runs in a real terminal: into a run and back, compared, and gone on with by the real engine."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.terminal.terminal import environment, fake_run, program
from tests.terminal.test_tmux import Tmux

pytestmark = pytest.mark.terminal


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs that have ended."""
    folder = tmp_path / "runs"
    for name in ("20260101-120000-one", "20260101-130000-two"):
        with fake_run(folder / name, tmp_path, FAKE_STEPS="300", FAKE_PAST="299") as engine:
            engine.wait()
    return folder


@pytest.mark.needs("tmux")
def test_into_a_run_and_back_and_two_of_them_compared(runs: Path, tmp_path: Path) -> None:
    command = f"{shlex.join(program('runs', str(runs)))}; echo it left with $?; sleep 100"
    tmux = Tmux(("sh", "-c", command), environment(tmp_path, TERM="screen-256color"), (100, 30))
    try:
        tmux.wait_for("✔ 2 runs", "✔ finished", "300/300")
        tmux.run("send-keys", "Down", "Enter")
        tmux.wait_for("╭─ loss", "✔ finished", "step 300/300")
        tmux.run("send-keys", "Escape")
        tmux.wait_for("✔ 2 runs", "2/2")
        tmux.run("send-keys", "Home", "m", "m", "C")
        tmux.wait_for("newest values", "1 130000-two · 2 120000-one")
        tmux.run("send-keys", "Escape")
        tmux.wait_for("✔ 2 runs", "2 marked")
        tmux.run("send-keys", "q")
        assert "Traceback" not in tmux.wait_for("it left with 0")
    finally:
        tmux.close()


def test_without_a_terminal_it_is_text_or_json(runs: Path, tmp_path: Path) -> None:
    variables = environment(tmp_path)
    told = subprocess.run(program("runs", str(runs)), env=variables, capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[1].startswith("20260101-") and "\x1b" not in told.stdout
    told = subprocess.run(program("runs", "--json"), env=variables, capture_output=True, text=True, check=True)
    assert [run["status"] for run in json.loads(told.stdout)["runs"]] == ["finished", "finished"]
    done = subprocess.run(program("runs", str(tmp_path / "none")), env=variables, capture_output=True, check=False)
    assert done.returncode == 2 and b"there is no such folder" in done.stderr
