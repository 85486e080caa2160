"""The bell of a real terminal, and the command, when the engine of the run on the screen is killed."""

import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.terminal.terminal import PATIENCE, Terminal, environment, fake_run, program

pytestmark = pytest.mark.terminal
_TITLES = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\\\)")
"""Some sequences for the terminal end in the same byte."""


def bells(terminal: Terminal) -> int:
    return _TITLES.sub(b"", terminal.output).count(b"\a")


def test_kill_9_rings_the_bell_and_runs_the_command(tmp_path: Path) -> None:
    told = tmp_path / "told"
    run = tmp_path / "20260101-000000-quickstart"
    with fake_run(run, tmp_path, FAKE_STEPS="1000", FAKE_DT="0.1") as engine:
        command = f'printf "%s %s" "$PGS_CODE" "$PGS_RUN" > {told}'
        arguments = ("attach", str(run), "--bell", "--on-critical", command)
        terminal = Terminal(program(*arguments), environment(tmp_path))
        try:
            terminal.wait_for("● training")
            assert bells(terminal) == 0
            engine.kill()
            terminal.wait_for("engine dead")
            end = time.monotonic() + PATIENCE
            while not bells(terminal):
                assert time.monotonic() < end, "the bell was not rung"
                terminal.read()
            assert bells(terminal) == 1
            while not (told.exists() and told.read_text()):
                assert time.monotonic() < end, "the command was not run"
                terminal.read()
            assert told.read_text() == f"ENGINE_DEAD {run}"
        finally:
            terminal.close()


@pytest.mark.parametrize("words", (("attach", "--plain"), ("inspect",)))
def test_where_there_is_no_run_on_a_screen_the_bell_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        program(*words, "--bell"), env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "pgs monitor RUN --follow --bell" in done.stderr
