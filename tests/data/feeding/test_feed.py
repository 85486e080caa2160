"""Batches that a thread prepares ahead are those that would be prepared when they are due."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engine.data.feeding.batches import Batch, collate_packs
from engine.data.feeding.feed import BatchFeed, Lines, Prepared
from engine.data.feeding.sampler import EpochSampler
from engine.data.feeding.samples import Sample, sample_of
from engine.errors import UserError


def samples(count: int = 23) -> list[Sample]:
    return [sample_of(row, list(range(row % 5 + 2)), list(range(row % 5 + 2))) for row in range(count)]


def feed(ahead: int, *, packs: bool = True, **changes: Any) -> BatchFeed:
    rows = samples()
    sampler = EpochSampler([len(row) for row in rows], 4, seed=3, pack_length=12 if packs else None)
    settings = {"collate": lambda lines: collate_packs(lines, 0), "micro_batch": 3, "ahead": ahead} | changes
    return BatchFeed(sampler, rows, **settings)


def contents(prepared: Prepared) -> tuple[Any, ...]:
    return prepared.epoch, prepared.longest, prepared.sampler, *map(tokens, prepared.batches)


def tokens(batch: Batch) -> tuple[Any, ...]:
    return batch.rows, batch.input_ids.tolist(), batch.labels.tolist(), batch.documents


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("ahead", [1, 3])
def test_order_and_content_are_the_same_with_and_without_a_thread(ahead: int, packs: bool) -> None:
    due, early = feed(0, packs=packs), feed(ahead, packs=packs)
    for _ in range(15):  # over the ends of several epochs
        assert contents(early.next()) == contents(due.next())
        assert early.state_dict() == due.state_dict()
    early.close()


@pytest.mark.parametrize("ahead", [0, 2])
def test_what_was_prepared_and_not_handed_out_is_drawn_again_after_a_resume(ahead: int) -> None:
    first, whole = feed(ahead), feed(0)
    for _ in range(7):
        first.next()
        whole.next()
    resumed = feed(ahead)
    resumed.load_state_dict(first.state_dict())
    first.close()
    assert resumed.state_dict() == first.state_dict()
    for _ in range(7):
        assert contents(resumed.next()) == contents(whole.next())
    resumed.close()


def test_the_thread_begins_with_the_first_batch_and_ends_with_close() -> None:
    early = feed(2)
    assert not threads()
    early.next()
    assert len(threads()) == 1
    early.close()
    assert not threads()


def test_so_many_steps_are_prepared_ahead() -> None:
    made: list[int] = []
    done = threading.Semaphore(0)

    def count(lines: Lines) -> Batch:
        made.append(len(lines))
        done.release()
        return collate_packs(lines, 0)

    early = feed(2, collate=count, micro_batch=4)
    early.next()
    for _ in range(3):
        assert done.acquire(timeout=10)
    early.close()
    assert made == [4, 4, 4]


@pytest.mark.parametrize("ahead", [0, 1, 4])
def test_a_fault_is_told_at_the_step_that_it_belongs_to(ahead: int) -> None:
    made = [0]

    def fail(lines: Lines) -> Batch:
        made[0] += 1
        if made[0] == 3:
            raise UserError("the cache of the tokens is gone")
        return collate_packs(lines, 0)

    early = feed(ahead, collate=fail, micro_batch=4)
    early.next()
    early.next()
    with pytest.raises(UserError, match="the cache of the tokens is gone"):
        early.next()
    early.close()
    assert not threads()
