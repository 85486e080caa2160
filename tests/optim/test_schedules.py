"""The learning rate at the ends of the schedules, where off-by-one faults live."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config.schema import Train
from engine.optim.schedules import learning_rate, warmup_steps

DECAYING = ("linear", "cosine", "wsd", "power_decay")
ALL = (*DECAYING, "constant")


def train(**settings: Any) -> Train:
    return Train(**({"learning_rate": 1e-3, "min_learning_rate": 1e-4, "warmup_steps": 10} | settings))


def curve(config: Train, total_steps: int) -> list[float]:
    return [learning_rate(config, step, total_steps) for step in range(1, total_steps + 1)]


@pytest.mark.parametrize("scheduler", ALL)
def test_first_step_peak_and_last_step_are_exact(scheduler: str) -> None:
    rates = curve(train(lr_scheduler=scheduler), 100)

    assert rates[0] == pytest.approx(1e-4)  # one tenth of the peak: the first of ten warm-up steps
    assert rates[9] == 1e-3
    assert max(rates) == 1e-3
    assert rates[-1] == (1e-3 if scheduler == "constant" else 1e-4)


@pytest.mark.parametrize("scheduler", DECAYING)
@pytest.mark.parametrize("total_steps", [2, 3, 7, 1000])
@pytest.mark.parametrize("warmup", [0, 1])
def test_short_and_long_runs_start_at_the_peak_and_end_at_the_minimum(
    scheduler: str, total_steps: int, warmup: int
) -> None:
    rates = curve(train(lr_scheduler=scheduler, warmup_steps=warmup), total_steps)

    assert rates[0] == 1e-3
    assert rates[-1] == 1e-4
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("scheduler", ALL)
def test_a_run_of_one_step_trains_at_the_peak(scheduler: str) -> None:
    assert curve(train(lr_scheduler=scheduler, warmup_steps=0), 1) == [1e-3]


@pytest.mark.parametrize("scheduler", ALL)
def test_a_warmup_as_long_as_the_run_ends_at_the_peak(scheduler: str) -> None:
    assert curve(train(lr_scheduler=scheduler, warmup_steps=10), 10)[-1] == 1e-3


def test_a_run_shorter_than_its_warmup_takes_the_first_steps_of_it() -> None:
    config = train(warmup_steps=100, max_steps=10)
    assert curve(config, 10) == curve(config, 200)[:10]


def test_warmup_is_a_straight_line() -> None:
    assert curve(train(), 100)[:10] == pytest.approx([1e-4 * step for step in range(1, 11)])


def test_constant_stays_at_the_peak() -> None:
    assert set(curve(train(lr_scheduler="constant"), 50)[9:]) == {1e-3}


def test_linear_and_cosine_are_half_way_down_in_the_middle() -> None:
    for scheduler in ("linear", "cosine"):
        rates = curve(train(lr_scheduler=scheduler, warmup_steps=0), 101)
        assert rates[50] == pytest.approx((1e-3 + 1e-4) / 2)


def test_wsd_keeps_the_peak_until_the_last_fifth() -> None:
    rates = curve(train(lr_scheduler="wsd"), 100)
    assert set(rates[9:80]) == {1e-3}
    assert rates[80] < 1e-3
    assert rates[89] == pytest.approx((1e-3 + 1e-4) / 2)


def test_wsd_decay_gives_way_to_a_long_warmup() -> None:
    rates = curve(train(lr_scheduler="wsd", warmup_steps=90), 100)
    assert rates[89] == 1e-3
    assert rates[-1] == 1e-4
    assert rates[89:] == sorted(rates[89:], reverse=True)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 4.0])
def test_power_decay_is_measured_after_the_warmup(gamma: float) -> None:
    config = train(lr_scheduler="power_decay", power_decay_gamma=gamma, min_learning_rate=0.0)
    rates = curve(config, 110)
    for step in (20, 60, 109):
        assert rates[step - 1] == pytest.approx(1e-3 * (1 - (step - 10) / 100) ** gamma)


@pytest.mark.parametrize(
    ("settings", "total_steps", "expected"),
    [
        ({"warmup_steps": None, "warmup_ratio": 0.1}, 30, 3),  # 0.1 * 30 is a little more than 3 in floating point
        ({"warmup_steps": None, "warmup_ratio": 0.1}, 31, 4),
        ({"warmup_steps": None, "warmup_ratio": 0.0}, 30, 0),
        ({"warmup_steps": None, "warmup_ratio": 1.0}, 30, 30),
        ({"warmup_steps": None}, 1000, 30),  # the default ratio, 0.03
        ({"warmup_steps": 7}, 1000, 7),
        ({"warmup_steps": 0}, 1000, 0),
    ],
)
def test_warmup_steps(settings: dict[str, Any], total_steps: int, expected: int) -> None:
    assert warmup_steps(train(**settings), total_steps) == expected


@pytest.mark.parametrize("scheduler", ALL)
def test_every_rate_is_positive_and_at_most_the_peak(scheduler: str) -> None:
    for total_steps in (1, 2, 5, 17, 333):
        rates = curve(train(lr_scheduler=scheduler, warmup_steps=None), total_steps)
        assert all(0 < rate <= 1e-3 for rate in rates)
