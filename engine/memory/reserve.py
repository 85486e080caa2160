"""What the allocator makes of what is asked of it: sizes rounded up, and memory that it holds but cannot use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from engine.units import MIB

CONTEXT_GIB = 1.0
"""What CUDA, its libraries and kernels take beside the allocator; 0.5 to 1.4 is usual (docs/performance.md)."""
HELD_UNUSED = 0.5
"""Reserved beyond the peak, as a share of the most that comes and goes within a phase: fitted to the rows of
docs/performance/h200.json, whose reserved memory it gives to 3 %."""
HELD_UNUSED_WITH_OFFLOAD = 0.25
"""The same where layer inputs leave the GPU; to 2 %."""
HELD_UNUSED_EXPANDABLE = 0.02
"""The same with expandable segments, in the one row that had them."""
_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_SMALLEST = 512
_OWN_SEGMENT = 10 * MIB
"""From this size on a tensor gets a segment of its own, in steps of `_STEP`."""
_STEP = 2 * MIB
_LEFT_WHOLE = MIB
"""Up to so much at the end of a segment stays with its tensor."""


@dataclass(frozen=True, slots=True)
class Allocator:
    """torch's allocator for CUDA; `is_expandable` says that its segments can grow."""

    is_expandable: bool = False

    @classmethod
    def of_environment(cls) -> Allocator:
        """As the variables of this process set it for a run that is started from here."""
        return cls(any("expandable_segments:true" in os.environ.get(name, "").lower() for name in _VARIABLES))

    def rounding(self, sizes: Iterable[int]) -> int:
        """Bytes that count as allocated beyond tensors of these sizes, each made when nothing was free."""
        return sum(self._rounded(size) - size for size in sizes)

    def reserved_gib(self, peak_gib: float, passing_gib: float, *, offloads: bool) -> float:
        """What is taken from the GPU for a step with this peak, in which at most `passing_gib` come and go."""
        return peak_gib + self._held_unused(offloads) * passing_gib

    def sentence(self, *, offloads: bool) -> str:
        """For people: what is taken to be held unused."""
        share = f"{self._held_unused(offloads):.0%} of the most that comes and goes within a step"
        if self.is_expandable:
            return f"with expandable segments the allocator holds {share} beyond the peak (one run on an H200)"
        return f"the allocator holds {share} beyond the peak, as fitted to runs on an H200 (docs/performance/h200.json)"

    def _held_unused(self, offloads: bool) -> float:
        if self.is_expandable:
            return HELD_UNUSED_EXPANDABLE
        return HELD_UNUSED_WITH_OFFLOAD if offloads else HELD_UNUSED

    def _rounded(self, size: int) -> int:
        exact = _up(size, _SMALLEST)
        segment = _up(size, _STEP)
        own = not self.is_expandable and size >= _OWN_SEGMENT
        return segment if own and segment - exact <= _LEFT_WHOLE else exact


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
