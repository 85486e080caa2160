"""Runs of other lengths and speeds on one axis: the same place means the same in all of them."""

import math

import pytest

from pgs_tui.comparing.aligned import EVAL, common_ground, index_at, tells, value_at
from pgs_tui.history.history import History
from tests.comparing.made_runs import evaluated, falling, history_of, resumed, told

SLOW = history_of(told(falling(100), every=4.0, tokens=50))
QUICK = history_of(told(falling(200, lift=0.5), every=1.0, tokens=200))


def test_at_a_step_both_have_taken_it() -> None:
    assert value_at(SLOW, "loss", "step", 60) == pytest.approx(falling(100)[59])
    assert value_at(QUICK, "loss", "step", 60) == pytest.approx(falling(200, lift=0.5)[59])


def test_after_as_many_tokens_one_is_at_a_quarter_of_the_others_steps() -> None:
    assert index_at(SLOW, "tokens", 4000.0) == 79
    assert index_at(QUICK, "tokens", 4000.0) == 19


def test_time_counts_from_the_start_of_each_run() -> None:
    assert index_at(SLOW, "time", 40.0) == 10
    assert index_at(QUICK, "time", 40.0) == 40


def test_where_a_run_has_ended_or_not_begun_it_has_no_value() -> None:
    assert value_at(SLOW, "loss", "step", 101) is None
    later = history_of(told(falling(10), first=50))
    assert value_at(later, "loss", "step", 49) is None
    assert value_at(later, "loss", "step", 50) is not None


def test_the_ground_reaches_from_the_first_step_of_all_to_the_last() -> None:
    later = history_of(told(falling(400), first=300))
    ground = common_ground([SLOW, later], "step")
    assert ground is not None
    assert ground.whole[0] == 1
    assert ground.whole[1] >= 699


def test_a_run_that_tells_no_tokens_is_not_aligned_by_them() -> None:
    foreign = history_of(told(falling(50), tokens=0))
    assert not tells(foreign, "tokens") and tells(foreign, "step")
    assert value_at(foreign, "loss", "tokens", 0.0) is None
    assert common_ground([foreign], "tokens") is None
    ground = common_ground([foreign, SLOW], "tokens")
    assert ground is not None and len(ground.steps) == len(SLOW.steps)


def test_without_a_step_there_is_no_ground() -> None:
    assert common_ground([History(), History()], "step") is None


def test_what_is_not_finite_is_told_and_not_passed_over() -> None:
    history = history_of(told([1.0, math.nan, 3.0, None]))
    value = value_at(history, "loss", "step", 2)
    assert value is not None and math.isnan(value)
    assert value_at(history, "loss", "step", 4) is None


def test_after_a_resume_the_steps_that_count_are_compared() -> None:
    history = history_of(resumed(told([9.0] * 40), 20, [2.0] * 10))
    assert len(history.steps) == 30
    assert value_at(history, "loss", "step", 25) == 2.0
    assert value_at(history, "loss", "step", 35) is None
    assert index_at(history, "time", 20.0) == 21, "the hours between two processes count as nothing"


def test_an_evaluation_counts_until_the_next_one() -> None:
    history = history_of(evaluated(told(falling(100)), {20: 3.0, 40: 2.0}))
    told_at = [value_at(history, EVAL, "step", step) for step in (10, 20, 39, 40, 99)]
    assert told_at == [None, 3.0, 3.0, 2.0, 2.0]


def test_an_average_is_that_of_its_own_run() -> None:
    noisy = history_of(told([1.0, 3.0] * 100))
    average = value_at(noisy, "loss", "step", 200, alpha=0.9)
    assert average is not None and average == pytest.approx(2.0, abs=0.1)
