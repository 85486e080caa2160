"""Weights that do not follow their optimizer are told of, and others are not."""

from __future__ import annotations

import json
import random

import pytest

from engine.config.schema import Config, Model, Train
from engine.events import Alert
from engine.health import TrainingHealth
from engine.health.stale import WINDOW, StaleDetector


def alerts_of(moved: list[float | None], rates: list[float] | None = None, **train: object) -> list[Alert]:
    health = TrainingHealth(Config(model=Model(name_or_path="m"), train=Train.model_validate(train)), warmup_steps=0)
    found: list[Alert] = []
    for index, share in enumerate(moved):
        found += health.gate(index + 1, 2.0, 1.0).alerts
        rate = rates[index] if rates else 3e-6
        found += health.after(index + 1, 2.0, 1.0, share, learning_rate=rate)
    return [alert for alert in found if alert.code == "STALE_WEIGHTS"]


def test_weights_that_stand_still_are_one_warning_with_the_share_and_the_cure() -> None:
    (alert,) = alerts_of([0.05] * 60, stochastic_rounding=False)
    assert (alert.state, alert.severity, alert.step, alert.metric) == ("open", "warning", WINDOW, "moved")
    assert alert.meaning.startswith(
        "the weights move by 5 % of what" if " %" in alert.meaning else "the weights move by 5%"
    )
    assert [(advice.key, advice.value) for advice in alert.advice] == [
        ("train.stochastic_rounding", True),
        ("train.learning_rate", 1e-4),
    ]


def test_what_is_on_already_is_not_advised() -> None:
    (alert,) = alerts_of([0.05] * 60, stochastic_rounding=True)
    assert [advice.key for advice in alert.advice] == ["train.learning_rate"]


def test_the_warning_ends_when_the_weights_follow_again() -> None:
    opened, closed = alerts_of([0.05] * 40 + [1.0] * 40)
    assert (opened.state, closed.state) == ("open", "closed")
    assert closed.meaning.endswith("they follow again")


@pytest.mark.parametrize("share", [1.0, 0.9, 0.65])
def test_weights_that_follow_are_fine(share: float) -> None:
    assert alerts_of([share] * 100) == []


def test_float32_weights_and_skipped_steps_say_nothing() -> None:
    assert alerts_of([None] * 100) == []


def test_the_noise_of_a_warm_up_does_not_cry_wolf() -> None:
    """Rounding at random moves few weights far: the smaller the rate, the noisier its share."""
    noise = random.Random(0)
    rates = [3e-6 * min(1.0, (step + 1) / 100) for step in range(400)]
    moved = [1.0 + noise.gauss(0, 0.05 * (3e-6 / rate) ** 0.5) for rate in rates]
    assert alerts_of(list(moved), rates) == []


def test_the_state_comes_back_through_json() -> None:
    unbroken, first = StaleDetector(), StaleDetector()
    shares = [0.4 + 0.01 * (step % 30) for step in range(120)]
    for share in shares[:50]:
        assert unbroken.check(share, 1e-5) == first.check(share, 1e-5)
    resumed = StaleDetector()
    resumed.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for share in shares[50:]:
        assert unbroken.check(share, 1e-5) == resumed.check(share, 1e-5)
