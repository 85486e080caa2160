"""The processes of a run on several GPUs."""

from __future__ import annotations

import pytest

from engine.events import StepMemory
from pgs_tui.history.history import History
from tests.pgs_tui.making import stamped, step


def history_of_ranks(seconds: dict[int, float], steps: int = 20, behind: int = -1) -> History:
    history = History()
    for number in range(1, steps + 1):
        told = [
            step(number, rank=rank, dt=dt, mem=StepMemory(peak=10.0 + rank))
            for rank, dt in seconds.items()
            if not (rank == behind and number > steps - 3)
        ]
        history.fold(stamped(*told))
    return history


def test_a_run_of_one_process_has_no_ranks_to_compare() -> None:
    assert history_of_ranks({0: 1.0}).ranks.all() == ()


def test_the_rank_that_the_others_wait_for_is_seen() -> None:
    ranks = history_of_ranks({0: 1.0, 1: 1.0, 2: 1.5, 3: 1.0}).ranks.all()
    assert [one.rank for one in ranks] == [0, 1, 2, 3]
    assert [one.lag for one in ranks] == pytest.approx([0.0, 0.0, 0.5, 0.0])
    assert ranks[2].memory_peak == 12.0


def test_a_rank_that_stopped_telling_is_behind() -> None:
    assert [one.behind for one in history_of_ranks({0: 1.0, 1: 1.0}, behind=1).ranks.all()] == [0, 3]


def test_the_curves_are_those_of_the_first_rank_alone() -> None:
    history = history_of_ranks({0: 1.0, 1: 9.0})
    assert len(history.steps) == 20
    assert history.series["dt"].extent(0, 20) == (1.0, 1.0)
