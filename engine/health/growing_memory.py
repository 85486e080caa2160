"""Memory that grows from step to step: something is kept that should not be, and the run ends when it is full.

The width of batches makes memory go up and down, so it is the smallest value of each block of steps that counts. It has
to rise through several blocks, and fast enough that what is left is gone before the run ends.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from engine.health.finding import Finding
from engine.health.memory_remedies import LESS_MEMORY
from engine.health.symptom import Remedy, Symptom, to, to_fact

BLOCK = 50
RISING_BLOCKS = 4
"""Blocks in a row, each above the one before."""
LEAST_GROWTH = 0.01
"""Of what was held: less is what a process gathers anyway."""
SAVE_EVERY = "save_every"

SAVE_IN_TIME = Remedy("train.save_steps", to_fact(SAVE_EVERY), "saves before it is full; a resumed run holds less")

SYMPTOMS = {
    "MEMORY_GROWS": Symptom(
        "warning",
        "the GPU's memory grows: from {baseline} to {value} GiB within {steps} steps; at this pace it is full in "
        "{left} steps",
        (SAVE_IN_TIME, *LESS_MEMORY),
        ending="it grows no longer",
    ),
    "HOST_MEMORY_GROWS": Symptom(
        "warning",
        "the run's main memory grows: from {baseline} to {value} GiB within {steps} steps; at this pace it is full in "
        "{left} steps",
        (SAVE_IN_TIME, Remedy("data.num_workers", to(0), "no batches are prepared ahead")),
        ending="it grows no longer",
    ),
}


class GrowingMemoryDetector:
    """Watches what is held at the end of steps, GiB."""

    def __init__(self, total_steps: int | None = None) -> None:
        self._total_steps = total_steps
        self._lowest: float | None = None
        self._steps = 0
        self._blocks: deque[float] = deque(maxlen=RISING_BLOCKS + 1)
        self._found: Finding | None = None

    def check(self, step: int, held: float | None, left: float | None) -> Finding | None:
        """Take in what is held after a step, and how much is left; return what is wrong while it is."""
        if held is None:
            return self._found
        self._lowest = held if self._lowest is None else min(self._lowest, held)
        self._steps += 1
        if self._steps >= BLOCK:
            self._blocks.append(self._lowest)
            self._lowest, self._steps = None, 0
            self._found = self._judge(step, left)
        return self._found

    def _judge(self, step: int, left: float | None) -> Finding | None:
        blocks = list(self._blocks)
        grows = len(blocks) > RISING_BLOCKS and all(later > earlier for earlier, later in pairwise(blocks))
        if self._found is not None:
            return self._found if len(blocks) > 1 and blocks[-1] > blocks[-2] else None
        if not grows or left is None or blocks[-1] - blocks[0] < LEAST_GROWTH * blocks[0]:
            return None
        pace = (blocks[-1] - blocks[0]) / (RISING_BLOCKS * BLOCK)
        steps_left = int(max(0.0, left) / pace)
        if self._total_steps is not None and step + steps_left >= self._total_steps:
            return None
        words = {
            "value": f"{blocks[-1]:.2f}",
            "baseline": f"{blocks[0]:.2f}",
            "steps": str(RISING_BLOCKS * BLOCK),
            "left": f"{steps_left:,}",
        }
        return Finding(blocks[-1], blocks[0], words=words, facts={SAVE_EVERY: max(1, steps_left // 2)})
