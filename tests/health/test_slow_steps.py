"""Steps that take long, and what is said to be the cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.events import Alert, Gpu, Host
from engine.health import RunWatch

from .synthetic import SyntheticRun, from_step, slower, watched


def slow_step(**fields: Any) -> Alert:
    """What is told of one slow step with these fields or parts of its time."""
    parts = {name: fields.pop(name) for name in ("data", "gc") if name in fields}
    fault = from_step(810, lambda step: replace(slower(step, 6.0, **parts), **fields), 810)
    return watched(SyntheticRun(steps=820, seed=1, fault=fault).events(), RunWatch({"data.num_workers": 0}))[0]


@pytest.mark.parametrize(
    ("fields", "said", "key"),
    [
        ({"data": 6.0}, "6 s of it waited for data", "data.num_workers"),
        ({"gc": 5.0}, "5 s of it collected garbage", None),
        ({"recompiles": 2}, "2 graphs were compiled in it", "model.compile"),
        ({}, "no cause is seen", None),
    ],
    ids=["data", "gc", "compiler", "none"],
)
def test_a_slow_step_tells_its_cause(fields: dict[str, Any], said: str, key: str | None) -> None:
    alert = slow_step(**fields)
    assert said in alert.meaning
    assert [advice.key for advice in alert.advice] == ([key] if key else [])


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ({"throttle": ("power brake",)}, "the GPU's clocks were low: power brake"),
        ({"io_pressure": 63.0}, "processes waited for the disk 63 % of the time"),
        ({"used_by_others": 11.0}, "another process uses the GPU (11.0 GiB)"),
    ],
    ids=["throttling", "disk", "neighbour"],
)
def test_a_slow_step_tells_what_was_beside_it(reading: dict[str, Any], said: str) -> None:
    def beside(number: int, found: Gpu | Host) -> Gpu | Host:
        is_meant = number == 810 and all(hasattr(found, name) for name in reading)
        return replace(found, **reading) if is_meant else found

    run = SyntheticRun(
        steps=820, seed=1, fault=from_step(810, lambda step: slower(step, 6.0), 810), reading_fault=beside
    )
    alert = next(alert for alert in watched(run.events()) if alert.code == "STEP_SLOW")
    assert said in alert.meaning


def test_a_slow_step_on_the_cpu_tells_that_other_programs_wanted_the_cores() -> None:
    def busy(number: int, found: Gpu | Host) -> Gpu | Host:
        return replace(found, cpu_pressure=91.0) if isinstance(found, Host) else found

    fault = from_step(810, lambda step: slower(step, 6.0), 810)
    events = list(SyntheticRun(steps=820, seed=1, fault=fault, reading_fault=busy).events())
    on_a_gpu, on_the_cpu = watched(events), watched(one for one in events if not isinstance(one.event, Gpu))
    assert "no cause is seen" in on_a_gpu[0].meaning  # a machine of many cores always has somebody waiting for one
    assert "processes waited for a core 91 % of the time" in on_the_cpu[0].meaning
    stalled = from_step(810, lambda step: slower(step, 60.0), 810)
    events = list(SyntheticRun(steps=820, seed=1, fault=stalled, reading_fault=busy).events())
    (stall, _) = watched(one for one in events if not isinstance(one.event, Gpu))
    assert stall.code == "STALL" and "no cause is seen" in stall.meaning


def test_a_stall_right_after_an_evaluation_says_so() -> None:
    run = SyntheticRun(steps=820, seed=1, fault=from_step(801, lambda step: slower(step, 60.0), 801))
    alert = watched(run.events(), RunWatch({"data.eval_every": 200}))[0]
    assert alert.code == "STALL" and "it came right after an evaluation" in alert.meaning
    assert [(advice.key, advice.value) for advice in alert.advice] == [("data.eval_every", 400)]
