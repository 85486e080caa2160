"""What the allocator makes of what is asked of it: sizes rounded up, and memory that it holds but cannot use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from engine.units import MIB

CONTEXT_GIB = 0.75
"""What CUDA, its libraries and kernels take beside the allocator, on an H200 (docs/profile.md); 0.5 to 1.4 is usual."""
HELD_UNUSED = 0.5
"""Reserved beyond the peak, as a share of the most that comes and goes within a phase: fitted to the rows of
docs/performance/h200.json and docs/performance/memory_accuracy.json."""
HELD_UNUSED_WITH_OFFLOAD = 0.25
"""The same where layer inputs leave the GPU."""
HELD_UNUSED_AMONG_KEPT = 1.8
"""The same where a layer keeps some of what it makes and frees the rest (selective checkpointing): the holes between
what is kept serve no larger tensor. From the two rows of docs/performance/memory_accuracy.json that have it."""
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
class StepUse:
    """What of a step decides how much the allocator cannot use again."""

    passing_gib: float
    """The most that comes and goes within a phase."""
    head_gradient_gib: float = 0.0
    """The gradient of the head where it exists as a whole: its place is free when the layers work, and fits nothing."""
    offloads: bool = False
    keeps_some: bool = False
    """Whether a layer keeps some of what it makes until its backward pass, and frees the rest."""


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

    def reserved_gib(self, peak_gib: float, use: StepUse) -> float:
        """What is taken from the GPU for a step with this peak."""
        held = self._held_unused(use) * use.passing_gib
        return peak_gib + (held if self.is_expandable else max(held, use.head_gradient_gib))

    def sentence(self, use: StepUse) -> str:
        """For people: what is taken to be held unused."""
        share = f"{self._held_unused(use):.0%} of the most that comes and goes within a step"
        if self.is_expandable:
            return f"with expandable segments the allocator holds {share} beyond the peak (one run on an H200)"
        least = ", or as much as the head's gradient takes" if use.head_gradient_gib else ""
        return f"the allocator holds {share} beyond the peak{least}, as fitted to runs on an H200 (docs/profile.md)"

    def _held_unused(self, use: StepUse) -> float:
        if self.is_expandable:
            return HELD_UNUSED_EXPANDABLE
        if use.keeps_some:
            return HELD_UNUSED_AMONG_KEPT
        return HELD_UNUSED_WITH_OFFLOAD if use.offloads else HELD_UNUSED

    def _rounded(self, size: int) -> int:
        exact = _up(size, _SMALLEST)
        segment = _up(size, _STEP)
        own = not self.is_expandable and size >= _OWN_SEGMENT
        return segment if own and segment - exact <= _LEFT_WHOLE else exact


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
