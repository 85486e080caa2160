"""One wrong step number neither ends the program, nor stretches the x axis, nor throws the past away."""

from __future__ import annotations

import pytest

from engine.events import Resume
from pgs_tui.history.history import History
from pgs_tui.history.strays import FAR
from tests.pgs_tui.making import stamped, step


def folded(*numbers: int) -> History:
    history = History()
    history.fold(stamped(*map(step, numbers)))
    return history


@pytest.mark.parametrize("wrong", [10**15, -(10**15), 2**53 + 1, 2**63, -(2**70), 10**30])
def test_a_single_wrong_number_is_left_out_and_told(wrong: int) -> None:
    history = folded(1, 2, 3, wrong, 4, 5)
    assert list(history.steps) == [1, 2, 3, 4, 5]
    assert history.superseded == []
    assert history.left_out == 1
    (note,) = history.notes()
    assert note.startswith("left out")
    assert history.notes() == (), "it is told once"


def test_a_wrong_number_at_the_end_is_not_shown_before_another_confirms_it() -> None:
    assert list(folded(1, 2, 10**9).steps) == [1, 2]


def test_a_run_that_goes_on_from_far_away_really_is_there() -> None:
    history = folded(1, 2, 10**9, 10**9 + 1, 10**9 + 2)
    assert list(history.steps) == [1, 2, 10**9, 10**9 + 1, 10**9 + 2]
    assert history.left_out == 0


def test_a_first_number_that_was_wrong_gives_way_to_the_run() -> None:
    assert list(folded(10**15, 1, 2, 3).steps) == [1, 2, 3]


def test_steps_a_million_apart_are_no_strays() -> None:
    assert list(folded(1, 1 + FAR, 1 + 2 * FAR).steps) == [1, 1 + FAR, 1 + 2 * FAR]


def test_what_is_held_back_is_given_up_at_a_resume() -> None:
    history = History()
    history.fold(stamped(step(1), step(2), step(10**9), Resume(from_step=2, checkpoint="c"), step(3)))
    assert list(history.steps) == [1, 2, 3]
    assert history.left_out == 1


def test_tokens_beyond_what_a_run_can_have_leave_the_step_out_whole() -> None:
    history = History()
    history.fold(stamped(step(1), step(2, tokens=2**63), step(3, tokens=-(10**30)), step(4)))
    assert list(history.steps) == [1, 4]
    assert history.tokens == 200
    assert {len(series) for series in history.series.values()} == {2}


def test_only_the_first_few_are_told() -> None:
    history = folded(1, *(2**60 + number for number in range(100)), 2)
    assert history.left_out == 100
    assert len(history.notes()) == 5
