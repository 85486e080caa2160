"""The memory that a run may have on one GPU, and who holds the rest of it."""

from __future__ import annotations

from dataclasses import dataclass

from engine.memory.advice.gpus import Gpu


@dataclass(frozen=True, slots=True)
class Holder:
    """Another process with memory on a GPU. `name` is its program, empty where that cannot be known."""

    pid: int
    name: str
    gib: float

    def __str__(self) -> str:
        return f"pid {self.pid} ({self.name})" if self.name else f"pid {self.pid}"


@dataclass(frozen=True, slots=True)
class Room:
    """What one GPU, or one slice of it, has for a run. What our own process holds counts as free."""

    name: str
    total_gib: float
    free_gib: float
    others: tuple[Holder, ...] = ()
    """Those that hold most of it first."""
    index: int | None = None
    """The driver's number of this machine's GPU; None for one out of the table."""
    is_slice: bool = False
    note: str = ""
    """What else there is to know: which GPU it is, what is unsure."""
    gpu: Gpu | None = None
    """Its kind, where the table knows it."""

    @property
    def capability(self) -> tuple[int, int] | None:
        """CUDA's compute capability; None where it is unknown."""
        return self.gpu.capability if self.gpu else None


def room_of(gpu: Gpu | float) -> Room:
    """A GPU of the table, or one with so many GiB, with nothing else on it."""
    if isinstance(gpu, Gpu):
        return Room(gpu.name, gpu.memory_gib, gpu.memory_gib, gpu=gpu)
    return Room(f"GPU of {gpu:g} GiB", float(gpu), float(gpu))
