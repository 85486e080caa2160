"""Readings of GPUs over a run, beside its steps."""

from __future__ import annotations

import math
from typing import Any

from engine.events import Event, Gpu, ModelInfo, Resume, Stamped, Start
from pgs_tui.history.gpu_history import FIELDS, MOST, MOST_CARDS, GpuHistory
from pgs_tui.history.history import History
from tests.pgs_tui.making import step

EVER = [(-math.inf, math.inf)]
START = Start(run="r", command="c", config="x", model=ModelInfo(name="m", params=1, trainable=1), device="cuda")


def gpu(index: int = 0, **fields: Any) -> Gpu:
    return Gpu(index=index, uuid=str(index), **fields)


def history_of(*told: tuple[float, Event]) -> History:
    history = History()
    history.fold(Stamped(t, event) for t, event in told)
    return history


def test_readings_stand_with_the_step_during_which_they_were_taken() -> None:
    history = history_of(
        (0.0, START),
        (5.0, gpu(power=100.0)),
        (10.0, step(1)),
        (15.0, gpu(power=200.0)),
        (18.0, gpu(power=300.0, throttle=("heat",))),
        (20.0, step(2)),
        (25.0, gpu(power=400.0)),
        (30.0, step(3)),
        (31.0, gpu(power=50.0)),
    )
    columns = history.gpu_columns(0, "power", 1, 4, 3)
    assert columns.high == (100.0, 300.0, 400.0)
    assert columns.low == (100.0, 200.0, 50.0), "the newest reading belongs to the newest step"
    assert columns.marks == {1}


def test_on_the_time_axis_they_stand_where_they_were_taken() -> None:
    history = history_of((0.0, START), *((float(t), gpu(power=float(t))) for t in range(1, 60)), (60.0, step(1)))
    assert history.gpu_columns(0, "power", 0, 60, 3, "time").high == (20.0, 40.0, 59.0)


def test_neither_a_night_between_two_processes_nor_replaced_steps_are_shown() -> None:
    history = history_of(
        (0.0, START),
        *((float(number), step(number)) for number in range(1, 5)),
        (3.5, gpu(power=999.0)),
        (500.0, gpu(power=888.0)),
        (1000.0, START),
        (1000.0, Resume(from_step=2, checkpoint="c")),
        (1001.5, gpu(power=70.0)),
        (1002.0, step(3)),
    )
    for axis, start, end in (("step", 1, 4), ("time", 0, 5)):
        assert history.gpu_columns(0, "power", start, end, 3, axis).extent() == (70.0, 70.0)  # type: ignore[arg-type]


def test_cards_are_kept_apart_and_the_newest_reading_is_whole() -> None:
    history = history_of((1.0, gpu(0, power=1.0)), (1.0, gpu(1, power=2.0, name="b")), (2.0, gpu(1, power=3.0)))
    assert sorted(history.cards) == [0, 1]
    assert history.cards[1].extent("power", EVER) == (2.0, 3.0)
    assert history.gpus[1].power == 3.0


def test_what_was_not_measured_is_a_gap() -> None:
    history = history_of((1.0, gpu(power=5.0)), (2.0, gpu()), (3.0, gpu(power=math.nan)))
    card = history.cards[0]
    assert card.extent("power", [(1.5, 9.0)]) == (math.inf, -math.inf)
    assert card.has("power")
    assert not card.has("temperature")


def test_a_month_keeps_its_extremes_in_bounded_memory() -> None:
    card = GpuHistory()
    count = 40 * MOST + 17
    for begin in range(0, count, 5000):
        times = [float(t) for t in range(begin, min(begin + 5000, count))]
        powers = [900.0 if t == 123_456 else 300.0 + t % 7 for t in times]
        card.extend(times, [powers] * len(FIELDS), [t == 400_000 for t in times])
    assert len(card) <= MOST
    assert card.t[-1] == count - 1
    assert card.extent("power", [(123_000.0, 124_000.0)]) == (300.0, 900.0)
    assert card.extent("power", [(200_000.0, 201_000.0)]) == (300.0, 306.0)
    assert card.was_throttled([(399_900.0, 400_100.0)])
    assert not card.was_throttled([(300_000.0, 399_000.0)])


def test_one_by_one_is_the_same_as_many_at_once() -> None:
    together, single = GpuHistory(), GpuHistory()
    times = [float(t) for t in range(2 * MOST + 5)]
    columns = [[t % 11 for t in times] for _ in FIELDS]
    together.extend(times, columns, [0] * len(times))
    for place, t in enumerate(times):
        single.extend([t], [column[place : place + 1] for column in columns], [0])
    assert single.t == together.t
    for field in FIELDS:
        for stretch in ((0.0, 100.0), (900.0, 905.0), (30_000.0, 40_000.0)):
            assert single.extent(field, [stretch]) == together.extent(field, [stretch])


def test_times_that_are_none_are_left_out_and_none_goes_back() -> None:
    history = history_of(
        (5.0, gpu(power=1.0)), (math.nan, gpu(power=2.0)), (1e300, gpu(power=3.0)), (4.0, gpu(power=4.0))
    )
    assert list(history.cards[0].t) == [5.0, 5.0]
    assert history.gpus[0].power == 4.0


def test_a_log_full_of_cards_does_not_fill_the_memory() -> None:
    history = history_of(*((1.0, gpu(index)) for index in range(MOST_CARDS + 50)))
    assert len(history.cards) == len(history.gpus) == MOST_CARDS
