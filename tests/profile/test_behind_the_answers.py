"""What the profiler's server does while it answers: it looks at GPUs, counts data, and measures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import Config, load_config
from engine.errors import UserError
from engine.memory.advice.room import Room
from engine.memory.estimate import estimate_memory
from engine.memory.estimate.model_shape import model_shape
from engine.profile.cards import Cards
from engine.profile.document import Measured
from engine.profile.measure import MeasuringProgress
from engine.profile.measure import Tell as TellSteps
from engine.profile.measure_here import MeasuredHere
from engine.profile.server.foresight import WAYS, Foresight
from engine.profile.server.lengths import Lengths
from engine.profile.server.machine import Machine
from engine.profile.server.measurement import Measurement, StoppedError, Tell
from engine.profile.server.methods import Methods
from engine.serving.inbox import Inbox
from engine.serving.params import RequestError
from tests.profile.small_estimate import ESTIMATE
from tests.profile.small_profile import write_config
from tests.profile.test_comparison import MEASURED

RESULT = Measured(ESTIMATE, MEASURED)
WAIT = 20.0


def test_a_measurement_tells_how_far_it_is_and_then_its_result() -> None:
    measurement = Measurement()
    may_end = threading.Event()
    has_told = threading.Event()

    def work(tell: Tell, is_stopped: object) -> Measured:
        tell("step 2 of 3", 1, 3)
        has_told.set()
        assert may_end.wait(WAIT)
        return RESULT

    measurement.start(work)
    assert has_told.wait(WAIT)
    now = measurement.as_json()
    assert (now["state"], now["what"], now["done"], now["total"], now["result"]) == (
        "running",
        "step 2 of 3",
        1,
        3,
        None,
    )
    may_end.set()
    measurement.wait(WAIT)
    done = measurement.as_json()
    assert done["state"] == "done" and done["result"]["peak_gib"] == MEASURED.peak_gib


def test_a_stopped_measurement_is_idle_and_another_may_begin() -> None:
    measurement = Measurement()

    def until_stopped(tell: Tell, is_stopped: object) -> Measured:
        assert callable(is_stopped)
        while not is_stopped():
            threading.Event().wait(0.01)
        raise StoppedError

    measurement.start(until_stopped)
    assert measurement.is_running
    measurement.stop(WAIT)
    assert measurement.as_json()["state"] == "idle"
    measurement.start(lambda tell, is_stopped: RESULT)
    measurement.wait(WAIT)
    assert measurement.as_json()["state"] == "done"


@pytest.mark.parametrize(
    ("error", "words"), [(UserError("the GPU is gone."), "the GPU is gone."), (KeyError("x"), "KeyError")]
)
def test_a_failure_is_told_in_words(error: Exception, words: str) -> None:
    measurement = Measurement()

    def fail(tell: Tell, is_stopped: object) -> Measured:
        raise error

    measurement.start(fail)
    measurement.wait(WAIT)
    found = measurement.as_json()
    assert found["state"] == "failed" and words in found["error"]


def test_gpus_are_looked_at_again_without_keeping_anybody_waiting() -> None:
    may_answer = threading.Event()
    looks: list[Cards] = []

    def look() -> Cards:
        if looks:
            assert may_answer.wait(WAIT)
        looks.append(Cards((Room("GPU", 10.0, 10.0 - len(looks)),)))
        return looks[-1]

    machine = Machine(look, fresh_seconds=0.0)
    assert machine.cards() is looks[0]
    assert machine.cards() is looks[0]  # the second look hangs
    may_answer.set()
    machine.wait(WAIT)
    assert machine.cards().rooms[0].free_gib < 10.0


def config_of(path: Path, *flags: str) -> Config:
    return load_config(path, flags, check_files=False).config


def test_data_is_counted_once_for_all_batch_sizes(tmp_path: Path) -> None:
    lengths = Lengths()
    path = write_config(tmp_path)
    unknown = lengths.of(config_of(path), reads=False)
    assert unknown.steps_per_epoch is None and "not looked at" in unknown.notes[0]
    assert lengths.of(config_of(path), patience=WAIT).steps_per_epoch == 3
    (tmp_path / "chats.jsonl").unlink()
    larger = config_of(path, "--train.per_device_batch_size", "10")
    assert lengths.of(larger, reads=False, patience=WAIT).steps_per_epoch == 1
    lengths.close()


def test_what_will_be_asked_next_is_prepared_and_what_cannot_be_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config(tmp_path)
    foresight = Foresight()
    assert not foresight.step()
    foresight.look_around(str(path), {"memory.layer_slices": 2, "train.gradient_checkpointing": "full"})
    steps = 0
    while foresight.step():  # `none` and `float8_training` are refused there
        steps += 1
    assert steps > 4 * sum(len(values) for _, values in WAYS), "none of them keeps a question waiting to its end"
    monkeypatch.setattr("engine.memory.estimate.layers.traced.record", lambda *_, **__: pytest.fail("traced anew"))
    for how in ("mixers", "selective"):
        config = load_config(
            path, ["--train.gradient_checkpointing", how, "--memory.layer_slices", "2"], check_files=False
        ).config
        assert estimate_memory(config, model_shape(config)).peak_gib > 0


def test_an_inbox_knows_whether_somebody_waits() -> None:
    may_end = threading.Event()

    def lines() -> Iterator[bytes]:
        yield b"one"
        may_end.wait(WAIT)

    inbox = Inbox(lines())
    taken = inbox.lines()
    assert next(taken) == b"one"
    assert not inbox.has_more
    may_end.set()
    assert list(taken) == []
    assert inbox.has_more


def test_a_measurement_is_asked_for_followed_and_not_begun_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()

    def measured(config: Config, estimate: object, tell: TellSteps, is_stopped: object) -> MeasuredHere:
        tell(MeasuringProgress("compiling", 0, 3))
        assert may_end.wait(WAIT)
        return MeasuredHere(MEASURED, "kept")

    monkeypatch.setattr("engine.profile.measure_here.measure_here", measured)
    monkeypatch.setattr("engine.profile.gpu_to_measure.gpu_to_measure", lambda: None)
    methods = Methods(Machine(lambda: Cards(())))
    asked = {"config": str(write_config(tmp_path))}
    assert methods.answer("measure", asked)["state"] == "running"
    with pytest.raises(RequestError, match="a measurement is going on"):
        methods.answer("measure", asked)
    may_end.set()
    methods.close()
    found = methods.answer("measuring", {})
    assert found["state"] == "done" and found["result"]["peak_gib"] == MEASURED.peak_gib
