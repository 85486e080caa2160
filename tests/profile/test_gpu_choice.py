"""Which GPU is meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import UserError
from engine.memory.advice.room import Holder, Room
from engine.profile.cards import Cards
from engine.profile.gpu_choice import choose, names_here

FIRST = Room("NVIDIA H200", 139.8, 100.0, (Holder(7, "python", 39.8),), index=0)
SECOND = Room("NVIDIA H200", 139.8, 139.0, index=1)
HERE = Cards((FIRST, SECOND))
NOWHERE = Cards((), "no GPU is known here: the NVIDIA driver does not answer")


def test_without_a_wish_it_is_the_one_that_a_run_would_train_on() -> None:
    assert choose(HERE).room is FIRST


def test_without_a_gpu_the_reason_and_the_way_out_are_told() -> None:
    found = choose(NOWHERE)
    assert found.room is None
    assert "driver does not answer" in found.why_none and "--gpu" in found.why_none


def test_gpus_of_one_name_are_told_apart_and_each_can_be_named() -> None:
    names = names_here(HERE)
    assert names == ["NVIDIA H200 (GPU 0)", "NVIDIA H200 (GPU 1)"]
    assert choose(HERE, name=names[1]).room is SECOND
    assert names_here(Cards((FIRST,))) == ["NVIDIA H200"]


def test_slices_of_one_card_are_told_apart() -> None:
    slices = tuple(Room("NVIDIA H200 MIG 1g.18gb", 16.0, free, index=0, is_slice=True) for free in (15.0, 16.0))
    cards = Cards((*slices, replace(slices[0], index=3)))
    assert len(set(names_here(cards))) == 3
    assert choose(cards, name=names_here(cards)[1]).room is slices[1]


def test_what_this_machine_calls_its_gpu_is_its_own_with_what_is_free_now() -> None:
    alone = Cards((FIRST,))
    assert choose(alone, name="NVIDIA H200").room is FIRST
    table = choose(alone, name="H200").room
    assert table is not None and table.free_gib == table.total_gib


def test_memory_alone_is_a_gpu_with_nothing_on_it() -> None:
    room = choose(HERE, memory_gib=12.5).room
    assert room is not None and (room.total_gib, room.free_gib, room.index) == (12.5, 12.5, None)


def test_a_number_is_that_of_the_driver() -> None:
    assert choose(HERE, index=1).room is SECOND
    with pytest.raises(UserError, match=r"--gpu_index 5: .* visible are 0, 1"):
        choose(HERE, index=5)
    with pytest.raises(UserError, match="driver does not answer"):
        choose(NOWHERE, index=0)
