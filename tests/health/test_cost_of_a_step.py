"""What judging costs a log of a hundred thousand steps: counted, since times say nothing on a busy machine."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from engine.events import Stamped, Step
from engine.health import SpikeDetector
from engine.health.steps_watch import StepsWatch

from .synthetic import SyntheticRun

MOST_CALLS = 300
"""Calls of functions, those of the interpreter among them, for a healthy step: 277 as this was written."""


def steps() -> list[Stamped]:
    return [stamped for stamped in SyntheticRun(steps=1500, seed=2).events() if isinstance(stamped.event, Step)]


class Calls:
    """Counts calls while it is entered."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    def __enter__(self) -> Calls:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            self.by_name[called.__name__] += 1
        elif event == "call":
            self.by_name[frame.f_code.co_name] += 1


@pytest.mark.parametrize("is_foreign", [True, False])
def test_judging_a_healthy_step_is_cheap(is_foreign: bool) -> None:
    watch = StepsWatch(is_foreign=is_foreign)
    young, grown = steps()[:500], steps()[500:]
    for stamped in young:
        watch.take(stamped)
    with Calls() as calls:
        for stamped in grown:
            watch.take(stamped)
    assert calls.by_name.total() < MOST_CALLS * len(grown)
    assert calls.by_name["sorted"] < 2 * len(grown)


def test_a_step_near_the_usual_passes_the_gate_without_sorting() -> None:
    detector = SpikeDetector()
    with Calls() as calls:
        for stamped in steps():
            assert isinstance(stamped.event, Step)
            detector.check(stamped.event.step, stamped.event.loss, stamped.event.hidden_norm)
    assert calls.by_name["sorted"] == calls.by_name["sort"] == 0
