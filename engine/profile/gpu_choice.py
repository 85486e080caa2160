"""Which GPU a config is held against: one that was named, or this machine's own."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import UserError
from engine.memory.advice.gpus import gpu_named
from engine.memory.advice.room import Room, room_of
from engine.profile.cards import Cards

HOW_TO_NAME_ONE = "name one with --gpu, or its memory with --gpu_memory_gb"


@dataclass(frozen=True, slots=True)
class Choice:
    """The room that was chosen; None with the reason, one sentence, where there is none."""

    room: Room | None
    why_none: str = ""


def choose(cards: Cards, name: str | None = None, memory_gib: float | None = None, index: int | None = None) -> Choice:
    """The GPU of that name (of this machine, else of the table), or with that memory, or of that number here.

    With none of them it is this machine's first visible one. Raises UserError for one that is not known.
    """
    if name is not None:
        return Choice(_here(cards, name) or room_of(gpu_named(name)))
    if memory_gib is not None:
        return Choice(room_of(memory_gib))
    if index is not None:
        return Choice(_numbered(cards, index))
    if cards.rooms:
        return Choice(cards.rooms[0])
    return Choice(None, f"{cards.problem or 'no GPU is known here'}; {HOW_TO_NAME_ONE}")


def names_here(cards: Cards) -> list[str]:
    """What this machine's GPUs are called, each with its number where several have one name."""
    names = [room.name for room in cards.rooms]
    return [
        room.name if names.count(room.name) == 1 else f"{room.name} (GPU {room.index}{_part(cards, place)})"
        for place, room in enumerate(cards.rooms)
    ]


def _part(cards: Cards, place: int) -> str:
    """Which of several slices of one card it is."""
    same = [at for at, room in enumerate(cards.rooms) if room.index == cards.rooms[place].index]
    return f", slice {same.index(place) + 1}" if len(same) > 1 else ""


def _here(cards: Cards, name: str) -> Room | None:
    return next((room for room, called in zip(cards.rooms, names_here(cards), strict=True) if called == name), None)


def _numbered(cards: Cards, index: int) -> Room:
    room = next((room for room in cards.rooms if room.index == index), None)
    if room is None:
        known = ", ".join(str(one.index) for one in cards.rooms)
        found = f"visible are {known}" if known else cards.problem or "there is none"
        raise UserError(f"--gpu_index {index}: this machine has no visible GPU of that number; {found}.")
    return room
