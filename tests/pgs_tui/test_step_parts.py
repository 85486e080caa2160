"""Where the seconds of the steps went: shares by column, exact sums but within a block."""

from __future__ import annotations

import math
import random

import pytest

from engine.events import Checkpoint, Eval, Event, Resume, StepTime
from pgs_tui.history.axis import AXES
from pgs_tui.history.history import History
from pgs_tui.history.step_parts import BLOCK
from tests.pgs_tui.making import stamped, step


def timed(number: int, dt: float = 1.0, **parts: float | None) -> Event:
    return step(number, dt=dt, time=StepTime(**parts))


def history_of(*events: Event) -> History:
    history = History()
    history.fold(stamped(*events))
    return history


def test_the_parts_of_a_column_are_sums_over_its_steps() -> None:
    chance = random.Random(1)
    seconds = [(chance.random(), chance.random()) for _ in range(64)]
    steps = [timed(number, 2.0, data=data, forward=forward) for number, (data, forward) in enumerate(seconds, 1)]
    columns = history_of(*steps).part_columns(1, 65, 2)
    for column, begin in enumerate((0, 32)):
        data = sum(one for one, _ in seconds[begin : begin + 32])
        forward = sum(one for _, one in seconds[begin : begin + 32])
        assert columns.seconds["data"][column] == pytest.approx(data)
        assert columns.seconds["forward"][column] == pytest.approx(forward)
        assert columns.seconds["other"][column] == pytest.approx(64 - data - forward)
        assert columns.whole(column) == pytest.approx(64)


def test_within_a_block_every_step_counts_as_its_mean() -> None:
    steps = [timed(number, 1.0, data=0.5 if number == 8 else 0.0) for number in range(1, 3 * BLOCK + 1)]
    columns = history_of(*steps).part_columns(1, BLOCK + 1, BLOCK)
    assert columns.seconds["data"] == pytest.approx([0.5 / BLOCK] * BLOCK)


def test_evaluations_and_checkpoints_come_on_top_where_they_were() -> None:
    history = history_of(
        *(timed(number, 1.0, forward=1.0) for number in range(1, 11)),
        Eval(step=3, loss=1.0, seconds=5.0),
        Eval(step=8, loss=1.0, seconds=6.0),
        Checkpoint(step=8, path="c", seconds=2.0, bytes=1),
    )
    columns = history.part_columns(1, 11, 2)
    assert columns.seconds["eval"] == (5.0, 6.0)
    assert columns.seconds["checkpoint"] == (0.0, 2.0)
    assert columns.seconds["other"] == (0.0, 0.0)


def test_parts_that_were_never_measured_are_known_as_such() -> None:
    history = history_of(*(timed(number, 1.0, data=0.1, optimizer=None) for number in range(1, 9)))
    assert history.table.parts.measured == {"data"}


@pytest.mark.parametrize("odd", [math.nan, math.inf, -5.0, 1e300])
def test_odd_seconds_are_not_counted(odd: float) -> None:
    history = history_of(timed(1, odd, data=odd), timed(2, 1.0, data=0.25))
    columns = history.part_columns(1, 3, 1)
    assert columns.seconds["data"] == (0.25,)
    assert columns.seconds["other"] == (0.75,)


def test_what_a_resume_replaced_no_longer_counts() -> None:
    history = history_of(
        *(timed(number, 1.0, data=0.5) for number in range(1, 101)), Eval(step=90, loss=1.0, seconds=3.0)
    )
    history.fold(
        stamped(Resume(from_step=40, checkpoint="c"), *(timed(number, 1.0, data=0.1) for number in range(41, 61)))
    )
    parts = history.table.parts.seconds(history.steps, 0, len(history.steps))
    assert parts["data"] == pytest.approx(40 * 0.5 + 20 * 0.1)
    assert parts["eval"] == 0.0


def test_time_is_asked_for_on_every_axis() -> None:
    history = history_of(*(timed(number, 1.0, data=0.5) for number in range(1, 33)))
    for axis in AXES:
        positions = history.positions(axis)
        columns = history.part_columns(positions[0], positions[-1] + 0.001, 4, axis)
        assert sum(columns.seconds["data"]) == pytest.approx(16.0)


@pytest.mark.parametrize("columns", [5, 120])
def test_reducing_again_after_growth_equals_reducing_afresh(columns: int) -> None:
    chance, history = random.Random(5), History()
    events: list[Event] = []
    for number in range(1, 121):
        news = [timed(number, 1.0, data=chance.random(), forward=chance.random() / 9)]
        news += [Eval(step=number, loss=1.0, seconds=2.0)] if number % 13 == 0 else []
        news += [Resume(from_step=60, checkpoint="c")] if number == 77 else []
        events += news
        history.fold(stamped(*news))
        assert history.part_columns(1, 150, columns) == history_of(*events).part_columns(1, 150, columns)
