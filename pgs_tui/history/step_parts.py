"""Where the seconds of the steps went, over a whole run."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from math import isfinite, nan
from typing import Literal, get_args

from engine.events import Step

BLOCK = 16
"""Seconds are summed up over so many steps; within such a block every step counts as its mean."""
LONGEST = 1e9
"""Seconds; what claims to have taken longer, or less than none, is not counted."""

MeasuredPart = Literal["data", "forward", "backward", "optimizer", "gc"]
PartName = Literal["data", "forward", "backward", "optimizer", "gc", "other", "eval", "checkpoint"]
MEASURED: tuple[MeasuredPart, ...] = get_args(MeasuredPart)
PARTS: tuple[PartName, ...] = get_args(PartName)


class StepParts:
    """A place for each step, as in all that a history keeps; `append`, `extend` and `truncate` go with it.

    On a GPU forward, backward and optimizer of a step are told with the next one: sums over steps are the same but for
    the ends.
    """

    def __init__(self) -> None:
        self.measured: set[MeasuredPart] = set()
        """The parts that were ever measured."""
        self.generation = 0
        """Grows when steps, or what came after them, are taken back."""
        self._dt = _Sums()
        self._parts = {part: _Sums() for part in MEASURED}
        self._eval, self._checkpoint = _Between(), _Between()

    def __len__(self) -> int:
        return len(self._dt)

    def append(self, step: Step) -> None:
        """Add the next step."""
        self._dt.extend([step.dt])
        for part, sums in self._parts.items():
            amount: float | None = getattr(step.time, part)
            if amount is not None:
                self.measured.add(part)
            sums.extend([nan if amount is None else amount])

    def extend(self, values: Mapping[str, array[float]]) -> None:
        """Add many steps: their seconds are at "dt", "time.data" ..., NaN where they were not measured."""
        self._dt.extend(values["dt"].tolist())
        for part, sums in self._parts.items():
            amounts = values[f"time.{part}"].tolist()
            if part not in self.measured and any(amount == amount for amount in amounts):
                self.measured.add(part)
            sums.extend(amounts)

    def add_eval(self, step: int, seconds: float | None) -> None:
        """An evaluation after that step took so long; None where that was not measured."""
        self._eval.add(step, seconds)

    def add_checkpoint(self, step: int, seconds: float | None) -> None:
        """A checkpoint after that step took so long."""
        self._checkpoint.add(step, seconds)

    def truncate(self, length: int, from_step: int) -> None:
        """Forget the steps from index `length` on, and what came after step `from_step`."""
        self.generation += 1
        for sums in (self._dt, *self._parts.values()):
            sums.truncate(length)
        self._eval.truncate(from_step)
        self._checkpoint.truncate(from_step)

    def seconds(self, steps: array[int], start: int, end: int) -> dict[PartName, float]:
        """Seconds by part in the steps at the indices from `start` to `end - 1`, of those whose numbers are `steps`."""
        end = min(end, len(self))
        if start >= end:
            return dict.fromkeys(PARTS, 0.0)
        amounts: dict[PartName, float] = {part: sums.between(start, end) for part, sums in self._parts.items()}
        amounts["other"] = max(self._dt.between(start, end) - sum(amounts.values()), 0.0)
        until = steps[end] if end < len(steps) else None
        amounts["eval"] = self._eval.between(steps[start], until)
        amounts["checkpoint"] = self._checkpoint.between(steps[start], until)
        return amounts


class _Sums:
    """Running sums at the border of each block, and the numbers since the last border."""

    def __init__(self) -> None:
        self._sums = array("d", [0.0])
        self._rest: list[float] = []

    def __len__(self) -> int:
        return (len(self._sums) - 1) * BLOCK + len(self._rest)

    def extend(self, amounts: list[float]) -> None:
        if not (isfinite(sum(amounts)) and 0 <= min(amounts, default=0.0) <= max(amounts, default=0.0) <= LONGEST):
            amounts = [amount if 0 <= amount <= LONGEST else 0.0 for amount in amounts]
        rest = self._rest + amounts
        closed = len(rest) // BLOCK * BLOCK
        total = self._sums[-1]
        for start in range(0, closed, BLOCK):
            total += sum(rest[start : start + BLOCK])
            self._sums.append(total)
        self._rest = rest[closed:]

    def truncate(self, length: int) -> None:
        blocks, rest = divmod(length, BLOCK)
        if blocks < len(self._sums) - 1:
            mean = (self._sums[blocks + 1] - self._sums[blocks]) / BLOCK
            self._rest = [mean] * rest
        else:
            self._rest = self._rest[:rest]
        del self._sums[blocks + 1 :]

    def between(self, start: int, end: int) -> float:
        return self._before(end) - self._before(start)

    def _before(self, index: int) -> float:
        block, rest = divmod(index, BLOCK)
        if block >= len(self._sums) - 1:
            return self._sums[-1] + sum(self._rest[:rest])
        return self._sums[block] + (self._sums[block + 1] - self._sums[block]) * rest / BLOCK


class _Between:
    """Seconds spent after certain steps."""

    def __init__(self) -> None:
        self._steps = array("q")
        self._sums = array("d", [0.0])

    def add(self, step: int, seconds: float | None) -> None:
        if seconds is None or not 0 <= seconds <= LONGEST:
            return
        place = bisect_right(self._steps, step)
        self._steps.insert(place, step)
        self._sums.insert(place + 1, self._sums[place] + seconds)
        for later in range(place + 2, len(self._sums)):
            self._sums[later] += seconds

    def truncate(self, from_step: int) -> None:
        keep = bisect_right(self._steps, from_step)
        del self._steps[keep:]
        del self._sums[keep + 1 :]

    def between(self, first: int, end: int | None) -> float:
        """After the steps from `first` on, below `end` where there is one."""
        until = bisect_left(self._steps, end) if end is not None else len(self._steps)
        begin = bisect_left(self._steps, first)
        return self._sums[max(until, begin)] - self._sums[begin]
