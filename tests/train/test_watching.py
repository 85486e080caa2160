"""What a run judges itself while it trains, and what it tells readers of that."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.events import Alert, Checkpoint, Eval, Event, Gpu, Host, Phase, Start, Step
from engine.health import JUDGED, RunWatch
from engine.session.readings import Readings

from .conftest import Outcome

Train = Callable[..., Outcome]


def test_the_start_names_what_the_engine_judges_and_an_evaluation_its_seconds(train: Train) -> None:
    outcome = train("--train.max_steps", 4)
    (start,) = outcome.of(Start)
    assert start.judged == JUDGED and start.slow_paths == ()
    assert all(evaluation.seconds > 0 for evaluation in outcome.of(Eval)) and outcome.of(Eval)
    assert outcome.of(Alert) == []


def test_what_is_watched_goes_on_behind_a_checkpoint(train: Train) -> None:
    outcome = train("--train.max_steps", 6, "--train.save_steps", 3)
    path = outcome.run.path / next(event.path for event in outcome.of(Checkpoint) if event.step == 3)
    states = [json.loads(file.read_text()) for file in (path / "trainer_state").glob("*.json")]
    (health,) = [state["health"] for state in states if "health" in state]
    watch = RunWatch({}, 6)
    watch.load_state_dict(health["watch"])
    assert watch.state_dict() == health["watch"]
    assert len(health["watch"]["rising"]["window"]["values"]) == 3, "the losses of its steps"


def test_a_detector_that_fails_ends_no_training(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    take = RunWatch.take

    def fail(self: RunWatch, event: object) -> object:
        if isinstance(getattr(event, "event", None), Step):
            raise ZeroDivisionError("no steps")
        return take(self, event)  # type: ignore[arg-type]

    monkeypatch.setattr(RunWatch, "take", fail)
    outcome = train("--train.max_steps", 4)
    assert outcome.code == 0 and len(outcome.of(Step)) == 4
    (alert,) = outcome.of(Alert)
    assert alert.code == "MONITOR_FAILED" and "ZeroDivisionError: no steps" in alert.meaning
    assert "Traceback" in (outcome.run.path / "console.log").read_text()


def test_readings_of_another_thread_are_taken_once_and_in_order(tmp_path: Path) -> None:
    written: list[Event] = []
    readings = Readings(written.append)
    host = Host(cpu=1.0, rss=1.0, disk_free=1.0)
    sent = [Gpu(index=0, uuid="a"), host, Phase(name="training")] * 50
    thread = threading.Thread(target=lambda: [readings(event) for event in sent])
    thread.start()
    taken = []
    while thread.is_alive():
        taken += readings.taken()
    thread.join()
    taken += readings.taken()
    assert written == sent
    assert [reading.event for reading in taken] == [event for event in sent if not isinstance(event, Phase)]
