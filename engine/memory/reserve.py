"""What the allocator makes of what is asked of it: sizes rounded up, and memory that it holds but cannot use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.units import MIB

CONTEXT_GIB = 1.0
"""What CUDA, its libraries and kernels take beside the allocator; 0.5 to 1.4 is usual (docs/performance.md)."""
HELD_UNUSED = 0.06
"""Reserved beyond the peak, as a share of it: 0.7 to 12.4 % in the rows of docs/performance/h200.json."""
HELD_UNUSED_EXPANDABLE = 0.002
"""The same with expandable segments: 0.16 % in the one row that had them."""
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

    def reserved_gib(self, peak_gib: float, parts: Mapping[str, float]) -> float:
        """What is taken from the GPU for a step with this peak."""
        return peak_gib * (1 + (HELD_UNUSED_EXPANDABLE if self.is_expandable else HELD_UNUSED))

    def sentence(self) -> str:
        """For people: what is taken to be held unused."""
        if self.is_expandable:
            return (
                f"segments are expandable (PYTORCH_CUDA_ALLOC_CONF), so the allocator holds {HELD_UNUSED_EXPANDABLE:.1%}"
                " beyond the peak, as in the one row measured so on an H200 (docs/performance/h200.json)"
            )
        return (
            f"the allocator holds {HELD_UNUSED:.0%} beyond the peak, as fitted to runs on an H200 where it was 0.7 to 12 %"
            " (docs/performance/h200.json); much less with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
        )

    def _rounded(self, size: int) -> int:
        exact = _up(size, _SMALLEST)
        segment = _up(size, _STEP)
        own = not self.is_expandable and size >= _OWN_SEGMENT
        return segment if own and segment - exact <= _LEFT_WHOLE else exact


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
