"""The command line itself, before and after a run."""

import os
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


def test_a_name_that_the_locale_cannot_read_is_refused() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "engine", "train", "--config", "prüfung.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stderr == "pgs: 'pr\\udcc3\\udcbcfung.yaml' is no text in this locale's encoding; set LC_ALL=C.UTF-8\n"


def test_a_working_directory_that_is_gone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["train", "--config", "any.yaml"]) == 2
    assert "the working directory no longer exists" in capsys.readouterr().err


def test_a_name_in_a_refusal_is_no_command_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["control", "a\x1b[31mrun", "stop"]) != 0
    said = capsys.readouterr().err
    assert "no such run" in said and "\x1b" not in said and said.endswith("\n")
