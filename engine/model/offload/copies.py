"""Copies between the device and main memory: beside the computation on a GPU, at once on the CPU."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from engine.units import MIB

_MOST_IN_A_BLOCK = 7
"""Then at least 80 % of a block is in use."""


class Copies(Protocol):
    """How the bytes travel. A copy is ordered behind all that was computed before it was started."""

    least_bytes: int
    """Smaller tensors are not worth a copy."""

    def buffers(self, nbytes: int) -> list[Tensor]:
        """New main memory, one or more of uint8 [nbytes]. Raises RuntimeError or MemoryError where there is none."""
        ...

    def start(self, source: Tensor, target: Tensor) -> Any:
        """Begin to copy; `source` and `target` are of one shape and dtype and live until the copy is waited for."""
        ...

    def wait(self, copy: Any) -> None:
        """Whatever the device is told to compute from here on comes after the copy. The program does not wait."""
        ...


class SideStream:
    """Copies on a stream of their own, to and from page-locked memory.

    There is one stream for both directions, so that a buffer which is used again is never written while an older copy
    still reads it. Tensors on the device belong to the stream that computes: the allocator gives their memory to that
    stream alone, in its order, and so `wait` before letting go of a tensor is all the care that they need.
    """

    least_bytes = MIB

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def buffers(self, nbytes: int) -> list[Tensor]:
        """Page-locked memory, without which a copy would stop the program."""
        block = torch.empty(nbytes * buffers_in_a_block(nbytes), dtype=torch.uint8, pin_memory=True)
        return list(torch.split(block, nbytes))

    def start(self, source: Tensor, target: Tensor) -> torch.cuda.Event:
        """Begin to copy behind what the computing stream has been told so far."""
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            target.copy_(source, non_blocking=True)
        event: torch.cuda.Event = self._stream.record_event()
        return event

    def wait(self, copy: torch.cuda.Event) -> None:
        """The computing stream waits for the copy."""
        torch.cuda.current_stream(self._device).wait_event(copy)


class AtOnce:
    """Plain copies in main memory, over when they return: the same way of the tensors, for tests on the CPU."""

    least_bytes = 0

    def buffers(self, nbytes: int) -> list[Tensor]:
        """Ordinary memory."""
        return [torch.empty(nbytes, dtype=torch.uint8)]

    def start(self, source: Tensor, target: Tensor) -> None:
        """Copy."""
        target.copy_(source)

    def wait(self, copy: None) -> None:
        """Nothing is left to wait for."""


def buffers_in_a_block(nbytes: int) -> int:
    """How many buffers are best asked for at once: torch rounds page-locked memory up to the next power of two."""

    def part_in_use(count: int) -> float:
        size = count * nbytes
        return size / (1 << (size - 1).bit_length())

    return max(range(1, _MOST_IN_A_BLOCK + 1), key=part_in_use)
