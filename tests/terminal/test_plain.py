"""Terminals that can do little, and no terminal at all."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgs_tui import plain
from tests.terminal.terminal import Terminal, environment, fake_run, program

pytestmark = pytest.mark.terminal


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "finished"
    with fake_run(path, tmp_path, FAKE_STEPS="30", FAKE_PAST="30") as engine:
        engine.wait()
    return path


@pytest.fixture
def going(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "runs" / "going"
    with fake_run(path, tmp_path, FAKE_STEPS="1000", FAKE_PAST="30", FAKE_DT="0.2"):
        yield path


def test_a_pipe_gets_lines_without_any_escape(finished: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        program("attach", str(finished)),
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("step=1  loss=")
    assert lines[-1] == "finished at step 30: all steps done"


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_lines_without_any_escape(finished: Path, tmp_path: Path, term: str) -> None:
    terminal = Terminal(program("attach", str(finished)), environment(tmp_path, TERM=term))
    try:
        assert terminal.wait_for_end() == 0
        assert b"\x1b" not in terminal.output
        assert b"finished at step 30" in terminal.output
    finally:
        terminal.close()


def test_a_locale_without_utf8_gets_frames_in_ascii(going: Path, tmp_path: Path) -> None:
    bare = environment(tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    terminal = Terminal(program("attach", str(going)), bare)
    try:
        shown = terminal.wait_for("+- loss", "* training", "step")
        terminal.type(b"?")
        terminal.wait_for("Esc closes")
        terminal.type(b"?")
        terminal.wait_for("leave, run goes on")
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
        assert terminal.output.isascii()
        assert "Traceback" not in shown
    finally:
        terminal.close()


def test_no_colour_means_no_colour(going: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("attach", str(going)), environment(tmp_path, NO_COLOR="1", COLORTERM="truecolor"))
    try:
        terminal.wait_for("● training", "loss")
        for code in (b"38;", b"48;", b"[31m", b"[32m", b"[34m", b";32m", b";34m"):
            assert code not in terminal.output
    finally:
        terminal.close()


def test_without_a_screen_a_config_is_trained_by_the_engine_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[object] = []
    monkeypatch.setattr(os, "execve", lambda *arguments: became.extend(arguments))
    plain.train(Path("c.yaml"), ("--train.epochs", "2"))
    program_path, arguments, variables = became
    assert program_path == sys.executable
    assert arguments == (sys.executable, "-m", "engine", "train", "--config", "c.yaml", "--train.epochs", "2")
    assert variables["PYTHONSAFEPATH"] == "1"  # type: ignore[index]


def test_a_broken_config_is_told_on_stderr_before_any_engine_starts(tmp_path: Path) -> None:
    config = tmp_path / "broken.yaml"
    config.write_text("train:\n  learning_rte: 1e-5\n")
    terminal = Terminal(program(str(config)), environment(tmp_path))
    try:
        assert terminal.wait_for_end() == 2
        tail = terminal.output[terminal.output.rindex(b"\x1b[?1049l") :].decode()
        assert "broken.yaml" in tail and "learning_rate" in tail
        assert "Traceback" not in tail
        assert not (tmp_path / "runs").exists()
    finally:
        terminal.close()


def test_a_config_that_is_not_there_never_touches_the_screen(tmp_path: Path) -> None:
    terminal = Terminal(program("nowhere.yaml"), environment(tmp_path))
    try:
        assert terminal.wait_for_end() == 2
        assert b"\x1b" not in terminal.output
        assert b"nowhere.yaml: no such config" in terminal.output
    finally:
        terminal.close()
