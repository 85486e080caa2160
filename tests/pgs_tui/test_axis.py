"""The x axes: tokens, time without the gaps between processes, epochs; none ever descends."""

from __future__ import annotations

import math

import pytest

from engine.events import Event, ModelInfo, Resume, Stamped, Start
from pgs_tui.history.history import History
from tests.pgs_tui.making import stamped, step

MODEL = ModelInfo(name="m", params=10, trainable=5)
START = Start(run="r", command="c", config="x.yaml", model=MODEL, device="cpu")


def history_at(*told: tuple[float, Event]) -> History:
    history = History()
    history.fold(Stamped(t, event) for t, event in told)
    return history


def test_tokens_are_summed_up_and_taken_back_at_a_resume() -> None:
    history = History()
    history.fold(stamped(*(step(number, tokens=number) for number in (1, 2, 3, 4))))
    assert list(history.positions("tokens")) == [1, 3, 6, 10]
    history.fold(stamped(Resume(from_step=2, checkpoint="c"), step(3, tokens=30)))
    assert list(history.positions("tokens")) == [1, 3, 33]
    assert history.tokens == 33


def test_time_counts_from_the_start_of_training() -> None:
    history = history_at((100.0, START), (103.0, step(1)), (104.5, step(2)))
    assert list(history.positions("time")) == [3.0, 4.5]


def test_the_night_between_two_processes_counts_as_nothing() -> None:
    history = history_at(
        (0.0, START),
        (1.0, step(1)),
        (2.0, step(2)),
        (50_000.0, START),
        (50_001.0, Resume(from_step=2, checkpoint="c")),
        (50_004.0, step(3)),
    )
    assert list(history.positions("time")) == [1.0, 2.0, 5.0]
    assert [history.table.axes.wall(index) for index in range(3)] == [1.0, 2.0, 50_004.0]


def test_time_goes_on_from_the_step_that_was_resumed() -> None:
    history = history_at(
        (0.0, START),
        *((float(number), step(number)) for number in range(1, 10)),
        (100.0, START),
        (100.0, Resume(from_step=4, checkpoint="c")),
        (102.0, step(5)),
    )
    assert list(history.positions("time")) == [1.0, 2.0, 3.0, 4.0, 6.0]


def test_a_clock_that_is_set_back_stands_still() -> None:
    history = history_at((10.0, step(1)), (11.0, step(2)), (5.0, step(3)), (6.0, step(4)))
    assert list(history.positions("time")) == [0.0, 1.0, 1.0, 2.0]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e300, -3.0])
def test_an_epoch_that_is_none_stands_where_the_one_before_does(odd: float) -> None:
    history = History()
    history.fold(stamped(step(1, epoch=0.5), step(2, epoch=odd), step(3, epoch=0.75)))
    assert list(history.positions("epoch")) == [0.5, 0.5, 0.75]


def test_a_step_is_found_on_every_axis_and_back() -> None:
    history = History()
    history.fold(stamped(*(step(number, tokens=10) for number in range(10, 60, 10)), every=2.0))
    assert history.position_of(30) == 30.0
    assert history.position_of(35) == 35.0, "an evaluation may stand between two steps"
    assert history.position_of(35, "tokens") == 30.0
    assert history.position_of(999) == 50.0
    assert history.position_of(-999, "time") == 0.0
    assert history.index_near(4.9, "time") == 2
    assert history.index_near(-1e9) == 0
    assert history.index_near(1e9) == 4
    assert History().index_near(1) is None
    assert History().position_of(1) is None


def test_curves_are_reduced_over_any_axis() -> None:
    history = History()
    history.fold(stamped(*(step(number, float(number), tokens=100 if number > 2 else 900) for number in range(1, 7))))
    assert history.columns("loss", 1, 7, 2).high == (3.0, 6.0)
    columns = history.columns("loss", 0, 2201, 2, "tokens")
    assert columns.high == (1.0, 6.0), "the first thousand tokens are one step"
