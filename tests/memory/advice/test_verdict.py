"""Whether it fits: against what is free and not the total (case E-05), and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.memory.advice.gpus import gpu_named
from engine.memory.advice.room import Holder, Room, room_of
from engine.memory.advice.verdict import judge, margin


@dataclass(frozen=True)
class Needed:
    total_gib: float
    context_gib: float = 0.5

    @property
    def reserved_gib(self) -> float:
        return self.total_gib - self.context_gib

    @property
    def peak_gib(self) -> float:
        return self.reserved_gib * 0.96


SHARED = Room("NVIDIA A100-SXM4-80GB", total_gib=80.0, free_gib=50.0, others=(Holder(4711, "", 30.0),), index=0)


def test_free_memory_decides_and_not_the_total() -> None:
    verdict = judge(Needed(60.0), SHARED)
    assert verdict.word == "does not fit"
    assert verdict.sentence == "does not fit: needs 60.0, free 50.0 of 80.0 GiB, 30.0 held by pid 4711"
    assert verdict.headroom_gib == -10.0


def test_a_margin_that_depends_on_another_process_is_a_warning() -> None:
    verdict = judge(Needed(45.0), SHARED)
    assert (verdict.word, verdict.headroom_gib) == ("fits", 5.0)
    (warning,) = verdict.warnings
    assert "margin (5.0 GiB) depends on pid 4711" in warning
    assert "30.0 GiB" in warning


def test_an_empty_gpu_has_no_warning() -> None:
    verdict = judge(Needed(14.0), room_of(gpu_named("4090")))
    assert (verdict.word, verdict.warnings) == ("fits", ())
    assert verdict.sentence == "fits: needs 14.0, free 23.5 of 23.5 GiB, 9.5 to spare"


def test_less_room_than_the_estimate_may_be_off_is_tight_and_says_by_how_much() -> None:
    needed = Needed(23.0)
    verdict = judge(needed, room_of(23.5))
    assert verdict.word == "tight"
    assert verdict.headroom_gib == pytest.approx(0.5)
    assert f"{margin(needed):.1f} by which fragmentation and the estimate itself may be off" in verdict.sentence
    assert "8% of what is reserved" in verdict.sentence


def test_without_a_gpu_the_need_is_told_and_nothing_is_promised() -> None:
    verdict = judge(Needed(14.0), None)
    assert (verdict.word, verdict.headroom_gib) == ("unknown", None)
    assert "needs 14.0 GiB" in verdict.sentence


def test_of_many_holders_the_largest_are_named_and_the_others_counted() -> None:
    others = tuple(Holder(pid, name, gib) for pid, name, gib in [(7, "python", 9.0), (8, "Xorg", 1.0), (9, "", 0.5)])
    small = tuple(Holder(pid, "sh", 0.01) for pid in (20, 21))
    verdict = judge(Needed(20.0), Room("RTX 4090", 23.5, 13.0, (*others, *small)))
    assert verdict.sentence.endswith(
        "free 13.0 of 23.5 GiB, 9.0 held by pid 7 (python), 1.0 by pid 8 (Xorg), 0.5 by pid 9, 0.0 by 2 others"
    )


def test_a_screen_with_a_few_mib_is_no_reason_to_warn() -> None:
    room = Room("RTX 4090", 23.5, 23.49, (Holder(1, "Xorg", 0.01),))
    assert judge(Needed(10.0), room).warnings == ()


def test_a_size_alone_is_taken_in_gib() -> None:
    room = room_of(24)
    assert (room.total_gib, room.free_gib, room.capability) == (24.0, 24.0, None)
    assert room_of(gpu_named("h100")).capability == (9, 0)
