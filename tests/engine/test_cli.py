"""The command line itself, before and after a run."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli import main


def test_an_interrupt_before_there_is_a_run_leaves_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(path: Path, overrides: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.config.load_config", interrupted)
    assert main(["train", "--config", "any.yaml"]) == 130
    assert capsys.readouterr().err == ""


def test_an_interrupt_while_the_process_leaves_changes_nothing() -> None:
    program = (
        "import atexit, os, signal\n"
        "from engine.cli import main\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"  # runs after what is registered later
        "raise SystemExit(main(['train', '--config', 'nowhere.yaml']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
