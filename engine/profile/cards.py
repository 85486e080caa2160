"""The GPUs of this machine as rooms for a run: which one trains, what is free on it, who holds the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import psutil

from engine.memory.advice.gpus import gpu_called
from engine.memory.advice.room import Holder, Room
from engine.monitor import (
    Card,
    CardMemory,
    MachineMemory,
    Nvml,
    NvmlError,
    card_memory,
    machine_memory,
    open_nvml,
    pids_are_the_hosts,
    watched_cards,
)
from engine.units import GIB

UNNAMED_GIB = 0.1
"""What no process is named for counts as used by someone from here on; drivers keep less for themselves."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Cards:
    """The GPUs that a run could use, in the order in which it numbers them: the first one trains."""

    rooms: tuple[Room, ...]
    problem: str | None = None
    """One sentence: why there is none, or which could not be read."""


def look(
    environment: Mapping[str, str] | None = None,
    own_pids: Collection[int] | None = None,
    open_library: Callable[[], Nvml] = open_nvml,
    machine: Callable[[], MachineMemory] = machine_memory,
    host_pids: bool | None = None,
) -> Cards:
    """Asks the driver. What `own_pids` (default: this process) hold counts as free.

    `environment` decides which cards are visible, `host_pids` whether process ids here are those of the driver; both
    are found out unless given. Raises UserError for a table of people's own GPUs that cannot be read.
    """
    environment = os.environ if environment is None else environment
    try:
        nvml = open_library()
    except NvmlError as fault:
        return Cards((), f"no GPU is known here: the NVIDIA driver does not answer ({fault})")
    try:
        reader = _Reader(
            own_pids=[os.getpid()] if own_pids is None else own_pids,
            machine=machine,
            host_pids=pids_are_the_hosts() if host_pids is None else host_pids,
        )
        return _look(nvml, environment, reader)
    except NvmlError as fault:
        return Cards((), f"no GPU is known here: the NVIDIA driver does not name them ({fault})")
    finally:
        nvml.close()


def _look(nvml: Nvml, environment: Mapping[str, str], reader: _Reader) -> Cards:
    count = len(nvml.cards())
    watched = watched_cards(nvml, environment)
    if not watched.cards:
        return Cards((), _why_none(count, environment.get(_VISIBLE)))
    found: list[Room] = []
    problems: list[str] = []
    for place, card in enumerate(watched.cards):
        notes = (_which(card, place, len(watched.cards), count, environment), watched.unsure or "")
        try:
            room = reader.room(card)
        except NvmlError as fault:
            problems.append(_unreadable(card, fault))
            continue
        found.append(replace(room, note="; ".join(note for note in (*notes, room.note) if note)))
    problem = "; ".join(problems) or None
    if problem:
        found = [replace(room, note="; ".join(note for note in (room.note, problem) if note)) for room in found]
    return Cards(tuple(found), problem)


def _why_none(count: int, setting: str | None) -> str:
    if not count:
        return "no GPU is known here: the NVIDIA driver is there and sees none"
    number = "the only GPU" if count == 1 else f"all {count} GPUs"
    return f"no GPU is visible: {_VISIBLE} is {setting!r}, which hides {number} of this machine"


def _which(card: Card, place: int, visible: int, count: int, environment: Mapping[str, str]) -> str:
    """Which of several GPUs this is, and whether it is the one that trains; nothing where there is one alone."""
    text = ""
    setting = environment.get(_VISIBLE)
    if count > 1 or setting is not None:
        text = f"GPU {card.index} of {count}" if count > 1 else f"GPU {card.index}"
        if setting is not None:
            text += f" ({_VISIBLE}={setting})"
        if visible > 1 and place == 0:
            text += f", the first of {visible} visible ones: a run trains on it alone"
        elif place > 0:
            text += f": a run trains on it with {_VISIBLE}={card.uuid}"
    if card.instance is not None:
        text += f"{'; ' if text else ''}a MIG slice of GPU {card.index}: its own memory counts, not the card's"
    return text


def _unreadable(card: Card, fault: NvmlError) -> str:
    if fault.kind == "lost":
        return f"GPU {card.index} ({card.name}) does not answer any more ({fault}); the machine needs a restart"
    return f"the memory of GPU {card.index} ({card.name}) cannot be read ({fault})"


@dataclass(frozen=True, slots=True)
class _Reader:
    own_pids: Collection[int]
    machine: Callable[[], MachineMemory]
    host_pids: bool

    def room(self, card: Card) -> Room:
        """Raises NvmlError where the memory cannot be read."""
        try:
            memory = card_memory(card, self.own_pids, host_pids=self.host_pids)
        except NvmlError as fault:
            if fault.kind != "not supported" or card.instance is not None:
                raise
            return self._unified(card)
        total = memory.total / GIB
        return Room(
            name=card.name,
            total_gib=total,
            free_gib=(memory.free + (memory.ours or 0)) / GIB,
            others=self._holders(memory.foreign),
            index=card.index,
            is_slice=card.instance is not None,
            note=_unnamed(memory),
            gpu=gpu_called(card.name, total),
        )

    def _unified(self, card: Card) -> Room:
        """NVML does not tell the memory of GPUs that have none of their own: they use the machine's."""
        memory = self.machine()
        return Room(
            name=card.name,
            total_gib=memory.total / GIB,
            free_gib=memory.available / GIB,
            index=card.index,
            note=(
                "unified memory: GPU and CPU share the machine's, so what is available in it now counts, and every"
                " program takes from it"
            ),
            gpu=gpu_called(card.name, memory.total / GIB),
        )

    def _holders(self, foreign: Mapping[int, int | None]) -> tuple[Holder, ...]:
        holders = [Holder(pid, self._program(pid), size / GIB) for pid, size in foreign.items() if size]
        return tuple(sorted(holders, key=lambda one: (-one.gib, one.pid)))

    def _program(self, pid: int) -> str:
        """Its name; a container's process ids are others than the driver's, and would name the wrong program."""
        if not self.host_pids:
            return ""
        try:
            return psutil.Process(pid).name()
        except psutil.Error:
            return ""


def _unnamed(memory: CardMemory) -> str:
    """What is in use without a process that the driver names a share for, as in containers and on Windows."""
    named = sum(size for size in memory.foreign.values() if size)
    rest = (memory.used - (memory.ours or 0) - named) / GIB
    if rest < UNNAMED_GIB:
        return ""
    silent = [pid for pid, size in memory.foreign.items() if size is None]
    if silent:
        pids = ", ".join(str(pid) for pid in silent)
        return f"{rest:.1f} GiB are in use by processes whose shares the driver does not tell (pid {pids})"
    return f"{rest:.1f} GiB are in use by processes that the driver does not name here, as those of another container"
