"""Whatever ends the program, the terminal is as it was found."""

import os
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal.terminal import Terminal, environment, fake_run, program

pytestmark = pytest.mark.terminal

MAIN_SCREEN, CURSOR, MOUSE_OFF = b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l"
SWITCHED_ON = (b"\x1b[?1049h", b"\x1b[?25l", b"\x1b[?1003h", b"\x1b[?1000h", b"\x1b[?2004h", b"\x1b[?1004h")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "runs" / "20260101-000000-quickstart"
    with fake_run(path, tmp_path, FAKE_STEPS="1000", FAKE_PAST="50", FAKE_DT="0.2"):
        yield path


@pytest.fixture
def dashboard(run: Path, tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(program("attach", str(run)), environment(tmp_path))
    yield terminal
    terminal.close()


def assert_restored(terminal: Terminal, written: bytes) -> None:
    assert MAIN_SCREEN in written
    assert CURSOR in written
    assert MOUSE_OFF in written
    tail = written[written.rindex(MAIN_SCREEN) :]
    assert not any(code in tail for code in SWITCHED_ON)
    before, after = terminal.attributes, terminal.attributes_now()
    assert after[:4] == before[:4], "echo, line editing and signals as before"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
def test_a_signal_leaves_the_terminal_as_it_was(dashboard: Terminal, number: signal.Signals) -> None:
    dashboard.wait_for("loss", "training", "step=")
    assert termios.tcgetattr(dashboard.slave)[3] & termios.ECHO == 0
    so_far = len(dashboard.output)
    dashboard.process.send_signal(number)
    code = dashboard.wait_for_end()
    assert code in (-number, 0, 130)
    if number != signal.SIGINT:
        assert code == -number, "whoever sent the signal sees that it was that which ended the program"
    assert_restored(dashboard, dashboard.output[so_far:])


def test_an_exception_leaves_the_terminal_as_it_was(run: Path, tmp_path: Path) -> None:
    script = tmp_path / "fail.py"
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from engine.rundir import RunDir\n"
        "from pgs_tui.goals import AttachTo\n"
        "from pgs_tui.showing import show\n"
        "from pgs_tui.appearance.look import Look\n"
        "from pgs_tui.runs.source import LocalRun\n"
        "from screens.dashboard.screen import DashboardScreen\n"
        "def fail(self):\n"
        "    raise RuntimeError('a fault in the program')\n"
        "DashboardScreen.action_glyphs = fail\n"
        f"sys.exit(show(AttachTo(LocalRun(RunDir(Path({str(run)!r})), 'x')), Look()))\n"
    )
    terminal = Terminal((sys.executable, str(script)), environment(tmp_path))
    try:
        terminal.wait_for("loss", "training")
        terminal.type(b"g")
        assert terminal.wait_for_end() == 1
        assert_restored(terminal, terminal.output)
        assert b"a fault in the program" in terminal.output[terminal.output.rindex(MAIN_SCREEN) - 4096 :]
    finally:
        terminal.close()


def test_leaving_says_on_the_restored_terminal_how_to_come_back(dashboard: Terminal, run: Path) -> None:
    dashboard.wait_for("training", "step=")
    dashboard.type(b"q")
    assert dashboard.wait_for_end() == 0
    assert_restored(dashboard, dashboard.output)
    tail = dashboard.output[dashboard.output.rindex(MAIN_SCREEN) :]
    assert f"{run.name} goes on".encode() in tail
    assert f"pgs-tui attach {run.name}".encode() in tail


def test_modes_left_on_by_a_lost_session_are_switched_off_first(run: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("attach", str(run)), environment(tmp_path))
    try:
        for _ in range(5):
            terminal.type(b"\x1b[<35;10;10M")
        terminal.wait_for("training", "loss")
        assert terminal.output.index(MOUSE_OFF) < terminal.output.index(b"\x1b[?1049h")
        assert b"\x1b[?1003h" not in terminal.output, "the mouse is off unless asked for"
        for stray in (b"\x1b[<35;10;10M", b"\x1b[M\xc3\xff\xfe", b"\x1b[M !!", b"\xff\xfe\x80"):
            terminal.type(stray)
        terminal.type(b"?")
        shown = terminal.wait_for("stop the run with a checkpoint")
        assert "35;10" not in shown
        terminal.type(b"?")
        terminal.wait_for("leave, run goes on")
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
    finally:
        terminal.close()


def test_bytes_that_come_alone_and_mean_nothing_do_no_harm(dashboard: Terminal) -> None:
    dashboard.wait_for("training", "loss")
    for stray in (b"\x1b[M !!", b"\xc3", b"\xa9", b"\xff"):
        dashboard.type(stray)
        dashboard.wait_until_read()
    dashboard.type(b"?")
    dashboard.wait_for("stop the run with a checkpoint")


def test_something_is_shown_before_the_libraries_for_the_rest_are_loaded(dashboard: Terminal) -> None:
    dashboard.wait_for("training", "loss")
    assert dashboard.output.count(b"\x1b[?1049h") == 1, "switching twice would flash"
    assert dashboard.output.index(b"pgs-tui") < dashboard.output.index("╭".encode())
    asked_by_textual = dashboard.output.index(b"\x1b[?2026$p")
    assert dashboard.output.index(b"pgs-tui") < asked_by_textual


def test_a_terminal_that_is_gone_ends_the_dashboard_and_not_the_run(run: Path, tmp_path: Path) -> None:
    terminal = Terminal(program("attach", str(run)), environment(tmp_path))
    terminal.wait_for("training")
    os.close(terminal.slave)
    os.close(terminal.master)
    assert terminal.process.wait(30) in (-signal.SIGHUP, 0, 1)
