"""The newest steps of a run, which speak for the present."""

from __future__ import annotations

from collections import deque

from engine.events import Step
from engine.events.columns import StepColumns
from pgs_tui.history.rows_of_columns import steps_of


class RecentSteps:
    """The newest `most` steps with their times. Those that came in blocks become steps only when someone asks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._steps: deque[tuple[float, Step]] = deque(maxlen=most)
        self._blocks: deque[StepColumns] = deque()
        """What came after `_steps`."""
        self._in_blocks = 0

    def append(self, t: float, step: Step) -> None:
        """Add the newest step."""
        self.all().append((t, step))

    def extend(self, block: StepColumns) -> None:
        """Add the newest steps."""
        newest = block.part(max(len(block) - self._most, 0), len(block))
        self._blocks.append(newest)
        self._in_blocks += len(newest)
        while self._in_blocks - len(self._blocks[0]) >= self._most:
            self._in_blocks -= len(self._blocks.popleft())

    def all(self) -> deque[tuple[float, Step]]:
        """They, in order."""
        for block in self._blocks:
            self._steps.extend((told.t, told.step) for told in steps_of(block))
        self._blocks.clear()
        self._in_blocks = 0
        return self._steps

    def clear(self) -> None:
        """Forget them."""
        self._blocks.clear()
        self._in_blocks = 0
        self._steps.clear()
