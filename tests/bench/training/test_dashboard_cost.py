"""The cost of the dashboard from windows of steps: pairs cancel a drift, and the interval says how sure it is."""

from __future__ import annotations

import pytest

from tests.bench.dashboard_cost import Window, order, summary


def test_each_pair_has_both_states_and_the_first_one_changes() -> None:
    assert order(3) == [False, True, True, False, False, True]


def test_a_drift_of_the_machine_is_no_cost_of_the_dashboard() -> None:
    speeds = [10_000.0 - 10 * number for number in range(40)]
    windows = [Window(is_on, (speed,) * 3, 10.0, 0.1) for is_on, speed in zip(order(20), speeds, strict=True)]
    found = summary(windows)
    assert found["share"] == pytest.approx(1.0, abs=1e-5)
    assert found["dashboard_cpu_share"] == pytest.approx(0.01)


def test_a_cost_shows_in_the_share_and_in_its_interval() -> None:
    windows = [Window(is_on, (9_900.0 if is_on else 10_000.0,) * 3, 10.0, 0.1) for is_on in order(8)]
    found = summary(windows)
    assert found["share"] == pytest.approx(0.99)
    assert found["share_95"] == pytest.approx([0.99, 0.99])
    assert (found["tok_s_off"], found["tok_s_on"], found["pairs"]) == (10_000.0, 9_900.0, 8)
