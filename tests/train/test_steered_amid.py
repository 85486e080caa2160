"""Whoever asks something while the engine is busy hears at once what will come of it, and when."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.control import FAILED
from engine.events import Ack, Alert, Checkpoint, Event, Phase
from engine.events.control_file import append_command
from engine.events.control_line import CommandName, new_command, who
from engine.exit_codes import DISK_FULL
from engine.rundir import RunDir, create_run_dir, liveness
from engine.session.orders import TOO_LATE

from .conftest import ENVIRONMENT, read_events

HELD_ENGINE = Path(__file__).with_name("held_engine.py")


class Held:
    """An engine that waits at gates, and the person who steers it."""

    def __init__(self, run: RunDir, gates: Path, process: "subprocess.Popen[bytes]") -> None:
        self.run, self.gates, self.process = run, gates, process

    def reaches(self, place: str) -> None:
        wait_for(lambda: (self.gates / f"{place}.reached").exists())

    def may_pass(self, place: str) -> None:
        (self.gates / f"{place}.open").touch()

    def asked(self, cmd: CommandName, **args: float) -> "Callable[[bool], str]":
        """Ask; the result waits for the answer, or with True for the promise, and returns its words."""
        command = new_command(cmd, **args)
        append_command(self.run.control, command)

        def words(later: bool = False) -> str:
            found = wait_for(lambda: [a for a in self.events(Ack) if a.id == command.id and a.later == later])
            assert len(found) == 1
            return f"{'' if found[0].ok else 'no: '}{found[0].message}"

        return words

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.all() if isinstance(event, kind)]

    def all(self) -> tuple[Event, ...]:
        return read_events(self.run) if self.run.events.exists() else ()

    def is_paused(self) -> bool:
        phases = self.events(Phase)
        return bool(phases) and phases[-1].name == "paused"


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


@pytest.fixture
def held(config_file: Path, tmp_path: Path) -> Iterator[Callable[..., Held]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: Any, opened: tuple[str, ...] = ()) -> Held:
        run, gates = create_run_dir(tmp_path / "runs", "tiny"), tmp_path / f"gates-{len(started)}"
        gates.mkdir()
        command = [sys.executable, str(HELD_ENGINE), "train", "--config", str(config_file), "--run-dir", str(run.path)]
        process = subprocess.Popen(
            [*command, *map(str, words)],
            stdout=subprocess.DEVNULL,
            env={**os.environ, **ENVIRONMENT, "GATES": str(gates)},
        )
        started.append(process)
        engine = Held(run, gates, process)
        for place in opened:
            engine.may_pass(place)
        return engine

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_what_is_asked_while_the_engine_is_busy_is_answered_at_once_and_done_in_time(
    held: Callable[..., Held],
) -> None:
    engine = held("--data.eval_every", 2)
    engine.reaches("load")
    evaluation, checkpoint = engine.asked("evaluate"), engine.asked("checkpoint")
    assert evaluation(True) == "evaluates as soon as the run is ready"
    assert checkpoint(True) == "saves as soon as the run is ready"
    assert engine.asked("pause")() == "pauses as soon as the run is ready"
    engine.may_pass("load")
    wait_for(engine.is_paused)
    assert evaluation().startswith("loss ") and checkpoint() == "no: no step is done yet: there is nothing to save"
    assert engine.asked("pause")() == "is paused already, before the first step"
    assert engine.asked("resume")() == "goes on with the first step"

    engine.reaches("evaluation")
    checkpoint = engine.asked("checkpoint")
    assert checkpoint(True) == "saves when the evaluation is over"
    assert engine.asked("pause")() == "pauses after this batch of the evaluation"
    engine.may_pass("evaluation")
    wait_for(engine.is_paused)
    evaluation = engine.asked("evaluate")
    assert evaluation(True) == "is evaluating already: tells the loss when the evaluation is over"
    assert "from step 3 on" in engine.asked("scale_lr", factor=0.5)()
    assert engine.events(Checkpoint) == []
    assert engine.asked("resume")() == "goes on with the evaluation"
    assert checkpoint() == "saved step 2" and evaluation().startswith("loss ")

    engine.reaches("step")
    rate = engine.asked("scale_lr", factor=2.0)
    assert rate(True) == "changes the learning rate after step 3"
    assert engine.asked("pause")() == "pauses after step 3"
    assert engine.asked("resume")() == "goes on after step 3"
    assert engine.asked("stop")() == "stops after step 3 with a checkpoint"
    assert f"is stopping already (asked to stop by {who()}): stops after" in engine.asked("stop")()
    engine.may_pass("step")
    assert engine.process.wait(60) == 0 and liveness(engine.run) == "stopped"
    assert "from step 4 on" in rate() and [event.step for event in engine.events(Checkpoint)] == [2, 3]


def test_a_stop_while_the_model_is_loaded_ends_the_run_there(held: Callable[..., Held]) -> None:
    engine = held()
    engine.reaches("load")
    rate, stop = engine.asked("scale_lr", factor=0.5), engine.asked("stop")
    assert rate(True) == "changes the learning rate as soon as the run is ready"
    assert stop() == "stops at once: the run is still being made ready"
    assert engine.process.wait(60) == 0
    assert rate() == "no: the run is over", "what was promised and not done is taken back"
    end = engine.all()[-1]
    assert end.reason == f"asked to stop by {who()} while the run was being made ready"  # type: ignore[union-attr]


def test_a_stop_while_the_last_save_waits_for_space_gives_it_up(held: Callable[..., Held]) -> None:
    engine = held("--train.max_steps", 2, "--data.eval_dataset", "null", "final", opened=("load", "evaluation", "step"))
    wait_for(lambda: [alert for alert in engine.events(Alert) if "waits for space" in alert.meaning])
    assert engine.asked("pause")() == engine.asked("evaluate")() == f"no: {TOO_LATE}"
    assert engine.asked("stop")().startswith("stops when the last save is over; one that waits for space")
    assert engine.process.wait(60) == DISK_FULL != FAILED
