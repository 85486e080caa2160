"""Runs whose batches a thread prepares ahead: the same steps, the same resume, the same faults."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from engine.data.feeding.maker import BatchMaker
from engine.errors import UserError
from engine.events import Resume, Step
from engine.train.commands import CommandDesk

from .conftest import Outcome
from .stack import PACKED, Left, assert_same

Train = Callable[..., Outcome]
AHEAD = ("--data.num_workers", 3)


def told(run: Outcome) -> list[tuple[Any, ...]]:
    return [(step.step, step.loss, step.grad_norm, step.rows, step.epoch, step.slots) for step in run.of(Step)]


def no_thread_is_left() -> bool:
    return not [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


@pytest.mark.parametrize("settings", [(), PACKED], ids=["lines", "packs"])
def test_a_run_that_is_stopped_and_resumed_with_it_is_one_without_it(
    train: Train, monkeypatch: pytest.MonkeyPatch, settings: tuple[Any, ...]
) -> None:
    """Over the ends of epochs: sixty chats make fifteen steps, in packs fewer."""
    common = (*settings, "--train.max_steps", 24, "--train.gradient_accumulation_steps", 2, "--data.eval_every", 7)
    whole = train(*common)

    def stop_after_14(desk: CommandDesk) -> None:
        if desk._trainer.progress.step == 14:
            desk._session.stop.request("the test stops here")

    with monkeypatch.context() as patch:
        patch.setattr("engine.train.commands.CommandDesk.obey_all", stop_after_14)
        first = train(*common, *AHEAD)
    assert (first.code, first.end.last_step) == (0, 14) and no_thread_is_left()
    resumed = train(*common, *AHEAD, "--train.resume_from", "auto")
    assert resumed.run == first.run and [event.from_step for event in resumed.of(Resume)] == [14]
    assert told(resumed) == told(whole) and no_thread_is_left()
    assert_same(Left.by(resumed).weights, Left.by(whole).weights, "weights")


def test_a_fault_in_the_thread_ends_the_run_at_its_step_in_its_own_words(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = BatchMaker.__call__
    made = [0]

    def fail(maker: BatchMaker, lines: Any) -> Any:
        made[0] += 1
        if made[0] == 6:  # the first is the rehearsal's
            raise UserError("the cache of the tokens is gone")
        return make(maker, lines)

    monkeypatch.setattr(BatchMaker, "__call__", fail)
    done = train(*AHEAD)
    assert (done.code, done.end.status, done.end.last_step) == (1, "failed", 4)
    assert "the cache of the tokens is gone" in done.end.reason
    assert no_thread_is_left()
