"""The estimate that a run on a GPU tells, and whether its steps keep to it; the GPU's part is said to be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.events import Estimate, Start, Step, StepMemory
from engine.memory.estimate.phases import COMPONENTS
from engine.train.telling.estimate_report import EstimateCheck
from tests.pgs_tui.making import step

from .conftest import Outcome

Train = Callable[..., Outcome]
WIDEST = 4096
SHORT = ("--train.max_steps", 2, "--data.eval_dataset", "null")


def taken(number: int, peak: float | None, slots: int = WIDEST, **fields: Any) -> Step:
    return step(number, slots=slots, mem=StepMemory(peak=peak), **fields)


def spoken(*steps: Step) -> list[str]:
    check = EstimateCheck(peak=10.0, widest_slots=WIDEST)
    return [said for one in steps if (said := check.sentence(one)) is not None]


def test_a_peak_far_from_the_estimate_is_said_once() -> None:
    (said,) = spoken(taken(1, 10.0), taken(2, 10.2), taken(3, 10.4), taken(4, 11.0))
    assert said.startswith("note: a step takes 10.40 GiB at the peak, 4.0% more than the 10.00 GiB that were expected")
    (said,) = spoken(taken(1, 10.0), taken(2, 9.5))
    assert "5.0% less" in said


@pytest.mark.parametrize(
    "later",
    [taken(2, 10.29), taken(2, 9.71), taken(2, None), taken(2, 5.0, slots=2048), taken(2, 5.0, skipped=True)],
    ids=["near", "near below", "no GPU", "a narrower batch", "skipped"],
)
def test_all_else_is_no_news(later: Step) -> None:
    assert spoken(taken(1, 20.0), later) == [], "the first step tunes kernels"


def test_a_narrow_batch_that_takes_more_is_said() -> None:
    assert len(spoken(taken(1, 10.0), taken(2, 10.5, slots=2048))) == 1


def test_a_run_on_the_cpu_tells_none(train: Train) -> None:
    outcome = train(*SHORT)
    assert outcome.code == 0
    assert not outcome.of(Estimate)


def test_a_run_on_a_gpu_tells_what_its_longest_batch_takes(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = train(*SHORT).losses
    monkeypatch.setattr("engine.train.telling.estimate_report.is_told_on", lambda device: True)
    outcome = train(*SHORT)
    (estimate,) = outcome.of(Estimate)
    assert outcome.losses == expected, "it changes nothing of the run"
    assert outcome.events.index(outcome.of(Start)[0]) < outcome.events.index(estimate)
    assert sum(estimate.components.values()) == pytest.approx(estimate.peak)
    assert set(estimate.components) <= set(COMPONENTS)
    assert estimate.reserved >= estimate.peak > estimate.components["weights"] > 0
    longer = train(*SHORT, "--data.max_seq_length", 256).of(Estimate)[0]
    longest_of_all = train(*SHORT, "--data.max_seq_length", 4096).of(Estimate)[0]
    assert estimate.peak < longer.peak
    assert longest_of_all.peak < 4 * longer.peak, "no row of the data is that long"
    assert "of the GPU's memory at the peak" in outcome.run.console_log.read_text()


def test_a_fault_of_the_estimate_is_a_note(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(config: object) -> object:
        raise KeyError("a kind of layer from another world")

    monkeypatch.setattr("engine.train.telling.estimate_report.is_told_on", lambda device: True)
    monkeypatch.setattr("engine.memory.estimate.model_shape.model_shape", broken)
    outcome = train(*SHORT)
    assert outcome.code == 0
    assert not outcome.of(Estimate)
    said = outcome.run.console_log.read_text()
    assert "note: its memory could not be estimated: KeyError: 'a kind of layer from another world'" in said
