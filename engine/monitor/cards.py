"""Reads one card into a `gpu` event; what it cannot read stays empty, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from engine.events import Gpu
from engine.monitor.nvml import Card, NvmlError
from engine.units import GIB

Result = TypeVar("Result")


@dataclass(frozen=True)
class CardMemory:
    """Who holds a card's memory, in bytes. `ours` and `others` are None where they cannot be told apart."""

    total: int
    used: int
    ours: int | None
    foreign: dict[int, int | None]
    """Bytes by process id, for the processes that are not ours."""

    @property
    def free(self) -> int:
        return self.total - self.used

    @property
    def others(self) -> int | None:
        return None if self.ours is None else max(0, self.used - self.ours)


def card_memory(
    card: Card, own_pids: Collection[int], own_bytes: int | None = None, host_pids: bool | None = None
) -> CardMemory:
    """Split a card's used memory into ours and that of others. Raises NvmlError if the memory cannot be read.

    NVML's list of processes decides. It gives the host's process ids: where ours are others (`host_pids` False, as in
    most containers; found out unless given), `own_bytes`, what our own allocator holds, takes its place.
    """
    used, total = card.memory()
    try:
        held = card.processes()
    except NvmlError as fault:
        if fault.kind == "lost":
            raise
        return CardMemory(total=total, used=used, ours=own_bytes, foreign={})
    own = [held.pop(pid) for pid in own_pids if pid in held]
    if own and None not in own:
        ours: int | None = sum(size for size in own if size is not None)
    elif own_bytes is None and not own and (pids_are_the_hosts() if host_pids is None else host_pids):
        ours = 0
    else:
        ours = own_bytes
    return CardMemory(total=total, used=used, ours=ours, foreign=held)


def pids_are_the_hosts() -> bool:
    """True in the machine's first pid namespace, whose number is fixed in the Linux kernel (PROC_PID_INIT_INO)."""
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == f"pid:[{0xEFFFFFFC}]"
    except OSError:
        return True


def read_card(card: Card, own_pids: Collection[int], own_bytes: int | None = None, note: str | None = None) -> Gpu:
    """One `gpu` event. `note` joins what else stands in its `error`. Raises NvmlError only when the card is lost."""
    reasons = _Reasons()
    memory = reasons.try_read("memory", lambda: card_memory(card, own_pids, own_bytes))
    if memory is not None and memory.ours is None:
        reasons.add("memory not told apart by process: all of it counts as others'")
    utilisation = reasons.try_read("utilisation", card.utilisation, is_slice=card.instance is not None)
    temperature = reasons.try_read("temperature", card.temperature, needed=False)
    power = reasons.try_read("power", card.power, needed=False)
    throttle = reasons.try_read("throttle reasons", card.throttle_reasons, needed=False)
    if note is not None:
        reasons.add(note)
    return Gpu(
        index=card.index,
        uuid=card.uuid,
        name=card.name,
        utilisation=utilisation,
        used_by_us=_gib(memory.ours) if memory else None,
        used_by_others=_gib(memory.used if memory.ours is None else memory.others) if memory else None,
        total=_gib(memory.total) if memory else None,
        temperature=temperature,
        power=power,
        throttle=throttle or (),
        error=reasons.text,
    )


class _Reasons:
    """Collects why numbers are missing."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    @property
    def text(self) -> str | None:
        return "; ".join(self._texts) or None

    def add(self, text: str) -> None:
        self._texts.append(text)

    def try_read(
        self, what: str, read: Callable[[], Result], *, needed: bool = True, is_slice: bool = False
    ) -> Result | None:
        """The value, or None. A missing value that a card of this kind never has is no reason to complain."""
        try:
            return read()
        except NvmlError as fault:
            if fault.kind == "lost":
                raise
            if is_slice:
                self.add(f"{what} n/a (MIG)")
            elif needed or fault.kind == "failed":
                self.add(f"{what} n/a ({fault})")
            return None


def _gib(size: int | None) -> float | None:
    return None if size is None else size / GIB
