"""The run belongs to the machine: it outlives the dashboard, and the dashboard tells when it does not live."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.rundir import RunDir, liveness, read_run_info
from tests.terminal.terminal import HERE, ROOT, Terminal, environment, fake_run, program

pytestmark = pytest.mark.terminal


class Started:
    """A dashboard that started a run, and the run."""

    def __init__(self, folder: Path) -> None:
        command = (sys.executable, str(HERE / "open_fake.py"), str(ROOT / "configs" / "quickstart.yaml"))
        output = ("--train.output_dir", str(folder / "runs"))
        settings = {"FAKE_STEPS": "2000", "FAKE_DT": "0.1"}
        self.folder = folder
        self.terminal = Terminal((*command, *output), environment(folder, **settings))

    @property
    def run(self) -> RunDir:
        (path,) = (self.folder / "runs").iterdir()
        return RunDir(path)

    def last_step(self) -> int:
        lines = self.run.events.read_text().splitlines()[:-1]
        return max((json.loads(text).get("step") or 0 for text in lines), default=0)

    def assert_goes_on(self) -> None:
        before = self.last_step()
        attached = Terminal(program("attach", self.run.id), environment(self.folder))
        try:
            attached.wait_for("● training")
            while self.last_step() <= before:
                attached.read(0.2)
            assert liveness(self.run) == "live"
        finally:
            attached.close()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    opened = Started(tmp_path)
    opened.terminal.wait_for("● training", "step=")
    yield opened
    info = read_run_info(opened.run)
    assert info is not None
    opened.terminal.close()
    if liveness(opened.run) == "live":
        os.kill(info.pid, signal.SIGKILL)


def test_kill_9_of_the_dashboard_costs_the_run_nothing(started: Started) -> None:
    started.terminal.process.kill()
    started.terminal.process.wait()
    started.assert_goes_on()


def test_a_dropped_link_costs_the_run_nothing(started: Started) -> None:
    os.killpg(started.terminal.process.pid, signal.SIGHUP)
    os.close(started.terminal.master)
    os.close(started.terminal.slave)
    started.terminal.process.wait(30)
    started.assert_goes_on()


def test_ctrl_c_twice_leaves_and_the_run_goes_on(started: Started) -> None:
    started.terminal.type(b"\x03")
    started.terminal.wait_for("Leave; the run goes on")
    started.terminal.type(b"\x03")
    assert started.terminal.wait_for_end() == 0
    started.assert_goes_on()


def test_x_stops_the_run_and_the_dashboard_stays(started: Started) -> None:
    started.terminal.type(b"x")
    started.terminal.wait_for("Stop with a checkpoint")
    started.terminal.type(b"\r")
    shown = started.terminal.wait_for("■ stopped at step")
    assert "asked to stop at step" in shown
    assert liveness(started.run) == "stopped"
    started.terminal.type(b"q")
    assert started.terminal.wait_for_end() == 0


def test_kill_9_of_the_engine_is_told_with_its_last_lines(started: Started) -> None:
    info = read_run_info(started.run)
    assert info is not None
    with started.run.console_log.open("a") as log:
        log.write("CUDA error: something awful\n")
    os.kill(info.pid, signal.SIGKILL)
    shown = started.terminal.wait_for("✖ killed", "killed after step", "by signal 9")
    assert "step=" in shown or "something awful" in shown
    started.terminal.type(b"q")
    assert started.terminal.wait_for_end() == 1


def test_a_config_that_runs_already_is_asked_about(started: Started) -> None:
    again = Started(started.folder)
    try:
        again.terminal.wait_for("already running", "Attach to", "Start another one", "Leave")
        again.terminal.type(b"\r")
        again.terminal.wait_for("● training")
        assert len(list((started.folder / "runs").iterdir())) == 1, "attached, not started again"
    finally:
        again.terminal.close()


def test_kill_9_of_an_engine_started_elsewhere_is_told_too(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "other"
    with fake_run(path, tmp_path, FAKE_STEPS="1000", FAKE_DT="0.1") as engine:
        terminal = Terminal(program("attach", str(path)), environment(tmp_path))
        try:
            terminal.wait_for("● training", "step=")
            engine.kill()
            engine.wait()
            terminal.wait_for("✖ killed", "vanished")
        finally:
            terminal.close()
