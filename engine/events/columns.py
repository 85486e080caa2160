"""A long stretch of a run's log as columns: what is too much to hold, or to pass on, event by event."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from engine.events.types import Gpu, Stamped

STEP_VALUES = (
    "epoch",
    "loss",
    "lr",
    "grad_norm",
    "dt",
    "tokens",
    "slots",
    "tok_s",
    "time.data",
    "time.forward",
    "time.backward",
    "time.optimizer",
    "time.gc",
    "mem.allocated",
    "mem.reserved",
    "mem.peak",
    "hidden_norm",
    "moved",
    "skipped",
)
"""What is kept of every step, by the names of its fields; `skipped` is 0 or 1."""

GPU_VALUES = ("utilisation", "used_by_us", "temperature", "power")
"""What is kept of every reading of a GPU."""


@dataclass(frozen=True, slots=True)
class StepColumns:
    """Steps of rank 0 whose numbers ascend, one place of every array for each: parallel arrays.

    `t` is in unix seconds, `offset` the first byte of the step's line in the log. `values` has an array for each name
    in STEP_VALUES, NaN where nothing was measured. A NaN that was measured has its place in `nan_at[name]`, ascending;
    a name without any is not in there.
    """

    step: array[int]
    t: array[float]
    offset: array[int]
    values: Mapping[str, array[float]]
    nan_at: Mapping[str, array[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.step)

    def part(self, start: int, end: int) -> StepColumns:
        """The steps at the places from `start` to `end - 1`."""
        if start == 0 and end >= len(self):
            return self
        values = {name: column[start:end] for name, column in self.values.items()}
        nan_at = {
            name: array("q", [place - start for place in places if start <= place < end])
            for name, places in self.nan_at.items()
        }
        marked = {name: places for name, places in nan_at.items() if places}
        return StepColumns(self.step[start:end], self.t[start:end], self.offset[start:end], values, marked)

    def ascending(self) -> tuple[StepColumns, ...]:
        """The same steps, cut wherever a step's number is not above that of the step before."""
        falls = [place for place, (one, next_one) in enumerate(pairwise(self.step), 1) if next_one <= one]
        cuts = [0, *falls, len(self)]
        return tuple(self.part(start, end) for start, end in pairwise(cuts) if end > start)


@dataclass(frozen=True, slots=True)
class GpuColumns:
    """Readings of GPUs in the order of the log: parallel arrays, one place for each reading.

    `index` says which GPU, `throttled` is 1 where it named a reason to throttle. `values` has an array for each name in
    GPU_VALUES, NaN where nothing was measured. `newest` is the whole of each GPU's last reading among these.
    """

    t: array[float]
    index: array[int]
    offset: array[int]
    values: Mapping[str, array[float]]
    throttled: array[int]
    newest: Mapping[int, Gpu]

    def __len__(self) -> int:
        return len(self.index)

    def part(self, start: int, end: int, newest: Mapping[int, Gpu]) -> GpuColumns:
        """The readings at the places from `start` to `end - 1`, whose last ones are `newest`."""
        values = {name: column[start:end] for name, column in self.values.items()}
        times, index, offset = self.t[start:end], self.index[start:end], self.offset[start:end]
        return GpuColumns(times, index, offset, values, self.throttled[start:end], newest)


Block = StepColumns | GpuColumns | Stamped


@dataclass(frozen=True, slots=True)
class Portion:
    """The events of the complete lines at the bytes from `begin` to `end - 1` of a log.

    Steps, and all that is no reading of a machine, stand in the order of the log. Readings of GPUs come as columns once
    a portion; of the host's only the newest is kept, since nothing looks at older ones.
    `bad_lines` were no events; `notes` say it for people, the first few of them.
    """

    begin: int
    end: int
    blocks: tuple[Block, ...] = ()
    bad_lines: int = 0
    notes: tuple[str, ...] = ()
