"""Main memory that tensors wait in, kept from step to step: locking pages takes far longer than a copy."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from engine.errors import UserError
from engine.units import GIB, MIB

_ALIGNED = 256
"""Bytes; so a buffer behind another one in a block begins where a number of any type may."""


class Buffers:
    """Buffers of one size, the largest that was asked for so far; `nbytes` are those of all that exist."""

    def __init__(self, allocate: Callable[[int], list[Tensor]]) -> None:
        self._allocate = allocate
        self._free: list[Tensor] = []
        self._size = 0
        self.nbytes = 0

    def take(self, nbytes: int) -> Tensor:
        """A buffer of at least so many bytes, uint8. Raises UserError where main memory has no more."""
        self._size = max(self._size, -(-nbytes // _ALIGNED) * _ALIGNED)
        while self._free:
            buffer = self._free.pop()
            if buffer.numel() >= nbytes:
                return buffer
            self.nbytes -= buffer.numel()  # of a time of smaller batches
        self._free = self._new()
        self.nbytes += sum(buffer.numel() for buffer in self._free)
        return self._free.pop()

    def give_back(self, buffer: Tensor) -> None:
        """The buffer is free for another tensor."""
        self._free.append(buffer)

    def _new(self) -> list[Tensor]:
        try:
            return self._allocate(self._size)
        except (RuntimeError, MemoryError) as error:
            raise UserError(
                f"memory.offload_activations: main memory has no {self._size / MIB:,.0f} MiB more to keep a layer's "
                f"input in, after {self.nbytes / GIB:.1f} GiB for the layers before; lower "
                "train.per_device_batch_size or data.max_seq_length, or set memory.offload_activations: false."
            ) from error
