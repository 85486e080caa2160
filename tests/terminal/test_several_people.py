"""Several people look at one run at once: each sees what the others ask of it, and none of them stops another."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.events import Ack, EventReader, Step
from engine.rundir import RunDir
from tests.terminal.terminal import Terminal, environment, fake_run, program

pytestmark = pytest.mark.terminal


@contextlib.contextmanager
def watching(run: RunDir, state: Path, *options: str, size: tuple[int, int] = (100, 30)) -> Iterator[Terminal]:
    terminal = Terminal(program("attach", str(run.path), *options), environment(state), size)
    try:
        yield terminal
    finally:
        terminal.close()


def test_three_people_on_one_run_see_what_each_asks(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "20260101-120000-shared")
    settings = {"FAKE_PAST": "200", "FAKE_STEPS": "100000", "FAKE_DT": "0.05"}
    with (
        fake_run(run.path, tmp_path, **settings) as engine,
        watching(run, tmp_path) as first,
        watching(run, tmp_path, size=(60, 15)) as second,
        watching(run, tmp_path, "--readonly") as onlooker,
    ):
        for terminal in (first, second, onlooker):
            terminal.wait_for("● training")
        first.type(b"C")
        first.wait_for("checkpoint: saved step")
        for terminal in (second, onlooker):
            terminal.wait_for(": checkpoint: saved step")
        second.type(b"P")
        second.wait_for("Pause the run?")
        second.type(b"\r")
        for terminal in (first, second, onlooker):
            terminal.wait_for("pauses after step", "‖ paused")
        onlooker.type(b"P")
        onlooker.wait_for("opened with --readonly")
        first.type(b"q")
        assert first.wait_for_end() == 0
        second.type(b"P")
        onlooker.wait_for("goes on after step", "● training")
        second.type(b"x")
        second.wait_for("Stop the run?")
        second.type(b"\r")
        for terminal in (second, onlooker):
            terminal.wait_for("stopped at step")
        assert engine.wait(30) == 0
    events = [one.event for one in EventReader(run.events, 2**30).poll().events]
    acks = [event for event in events if isinstance(event, Ack)]
    assert [ack.cmd for ack in acks] == ["checkpoint", "pause", "resume", "stop"] and all(ack.ok for ack in acks)
    steps = [event.step for event in events if isinstance(event, Step)]
    assert steps == list(range(1, len(steps) + 1))
