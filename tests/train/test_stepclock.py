"""The parts of a step on a GPU, with events that are only over once the next step has waited for the device."""

import itertools

import pytest
import torch

from engine.events import StepTime
from engine.train.stepclock import StepClock


class FakeDevice:
    """Each event is recorded one second of device time after the one before; `done` counts those that are over."""

    def __init__(self) -> None:
        self.recorded = itertools.count(1)
        self.done = 0


class FakeEvent:
    def __init__(self, device: FakeDevice) -> None:
        self.device = device
        self.second = 0

    def record(self) -> None:
        self.second = next(self.device.recorded)

    def query(self) -> bool:
        return self.second <= self.device.done

    def elapsed_time(self, end: "FakeEvent") -> float:
        assert self.query() and end.query(), "asked for the time of an event that is not over"
        return (end.second - self.second) * 1000.0


def step(clock: StepClock, device: FakeDevice, micro_batches: int) -> StepTime:
    clock.start()
    clock.lap("data")
    for _ in range(micro_batches):
        clock.lap("forward")
        clock.lap("backward")
    device.done = next(device.recorded)  # the loop reads loss and norm: everything so far is over
    clock.lap("optimizer")  # still running when the step ends
    return clock.finish()[1]


def test_the_parts_of_a_step_come_with_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: FakeEvent(device))
    clock = StepClock(torch.device("cuda"))
    try:
        first, second, third = (step(clock, device, micro_batches) for micro_batches in (1, 3, 1))
    finally:
        clock.close()
    assert (first.forward, first.backward, first.optimizer) == (None, None, None)
    assert (second.forward, second.backward, second.optimizer) == (1.0, 1.0, 2.0)
    assert (third.forward, third.backward, third.optimizer) == (3.0, 3.0, 2.0)
    assert first.data is not None


def test_what_is_left_out_of_a_step_is_in_none_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds_that_passed = iter([0.0, 1.0, 3.0, 10.0, 17.0, 18.0, 20.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(seconds_that_passed))
    clock = StepClock(torch.device("cpu"))  # at 0
    clock.close()  # a collection of garbage would read the time as well
    clock.start()  # at 1
    clock.lap("forward")  # at 3
    with clock.left_out():  # from 10 to 17
        pass
    clock.lap("optimizer")  # at 18
    seconds, parts = clock.finish()  # at 20
    assert (seconds, parts.forward, parts.optimizer) == (13.0, 2.0, 8.0)
