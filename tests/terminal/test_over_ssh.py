"""The dashboard of a run on another machine in a real terminal, over a real `ssh`: questions, a cut, a way back."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.events import Ack, EventReader
from engine.rundir import RunDir
from tests.remote.proxy import Proxy, proxy_to
from tests.remote.sshd import HOST, Sshd, serving
from tests.terminal.terminal import Terminal, environment, fake_run, program

pytestmark = [pytest.mark.terminal, pytest.mark.xdist_group("sshd")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with serving(tmp_path_factory.mktemp("sshd")) as sshd:
        yield sshd


@pytest.fixture
def line(server: Sshd) -> Iterator[Proxy]:
    with proxy_to(server.port) as proxy:
        yield proxy


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDir]:
    folder = tmp_path / "far" / "20260101-120000-it's here"
    settings = {"FAKE_PAST": "300", "FAKE_STEPS": "100000", "FAKE_DT": "0.05", "FAKE_SPIKE": "250", "FAKE_RECORD": "1"}
    with fake_run(folder, tmp_path / "far", **settings):
        yield RunDir(folder)


@contextlib.contextmanager
def attached(run: RunDir, folder: Path, ssh: str, *more: str) -> Iterator[Terminal]:
    own = {"PGS_TUI_SSH": ssh, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_RUNTIME_DIR": str(folder / "run")}
    (folder / "run").mkdir(exist_ok=True)
    arguments = program("attach", f"{HOST}:{run.path}", *more)
    terminal = Terminal(arguments, environment(folder / "here", **own), (100, 30))
    try:
        yield terminal
    finally:
        terminal.close()


def test_a_question_of_ssh_is_answered_before_the_screen_and_once(
    tmp_path: Path, server: Sshd, line: Proxy, run: RunDir
) -> None:
    ssh = server.through(line.port, f"UserKnownHostsFile {tmp_path}/known", "StrictHostKeyChecking ask")
    with attached(run, tmp_path, ssh) as terminal:
        shown = terminal.wait_for("authenticity of host", "(yes/no")
        assert b"\x1b[?1049h" not in terminal.output, "the screen waits for the answer"
        assert "training" not in shown
        terminal.type(b"yes\r")
        terminal.wait_for("● training", "box")
        terminal.type(b"q")
        assert terminal.wait_for_end() == 0
        told = terminal.output.decode(errors="replace").rpartition("\x1b[?1049l")[2]
        assert "on box goes on at step" in told and f"attach 'box:{run.path.parent}" in told.replace("\r\n", "")
    with attached(run, tmp_path, ssh) as terminal:
        terminal.wait_for("● training")
        assert b"authenticity" not in terminal.output


def test_a_line_that_is_cut_is_told_and_comes_back_without_a_gap(
    tmp_path: Path, server: Sshd, line: Proxy, run: RunDir
) -> None:
    with attached(run, tmp_path, server.through(line.port)) as terminal:
        terminal.wait_for("● training")
        terminal.type(b"a\r")
        terminal.wait_for("the batch of step 250", "row 8 812", "/data/chats.jsonl:8813")
        terminal.type(b"q")
        line.cut(refuse=True)
        terminal.wait_for("the connection to box is lost", "R tries now")
        terminal.type(b"C")
        line.mend()
        terminal.type(b"R")
        terminal.wait_for("● training", "checkpoint: saved step")
        terminal.type(b"P")
        terminal.wait_for("Pause the run?")
        terminal.type(b"\r")
        terminal.wait_for("‖ paused", "pauses after step")
        terminal.type(b"x")
        terminal.wait_for("Stop the run?")
        terminal.type(b"\r")
        terminal.wait_for("■ stopped", "stopped at step")
    acks = [one.event for one in EventReader(run.events, 2**30).poll().events if isinstance(one.event, Ack)]
    assert [ack.cmd for ack in acks] == ["checkpoint", "pause", "stop"], "each is done once, however often it was sent"


def test_a_machine_that_lets_nobody_in_is_one_sentence(tmp_path: Path, server: Sshd, line: Proxy, run: RunDir) -> None:
    (tmp_path / "none").write_text("")
    ssh = server.through(line.port, "IdentityFile /nowhere", "PreferredAuthentications password")
    with attached(run, tmp_path, ssh) as terminal:
        assert terminal.wait_for_end() == 2
        assert "pgs-tui: box: " in terminal.text and "Permission denied" in terminal.text
        assert b"\x1b[?1049h" not in terminal.output
