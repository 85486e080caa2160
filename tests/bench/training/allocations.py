"""What is in the GPU's memory at the highest moment of a step, by the code that asked for it.

From the allocator's own history (`torch.cuda.memory._record_memory_history`). What the autograd engine allocates in
C++ has no line of Python; the part of the step tells at least when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from engine.units import GIB

NO_LINE = "no line of Python (autograd)"
_TELLING = ("/engine/", "/fla/", "/liger_kernel/", "/torchao/", "/torchinductor", "/transformers/models/")
_MOST_ENTRIES = 2_000_000


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest moment: bytes of what was there before the step, and of what the step had asked for by then."""

    before: int
    by_place: dict[str, int]

    @property
    def total(self) -> int:
        return self.before + sum(self.by_place.values())


def find_peak(history: Sequence[Mapping[str, Any]], held_before: int, parts: Sequence[tuple[float, str]] = ()) -> Peak:
    """Walk the history to its highest moment. `parts`: when parts of the step ended, unix microseconds.

    A freed address that the history has not seen belonged to what was held before.
    """
    live: dict[int, tuple[int, str]] = {}
    before, total = held_before, held_before
    peak, highest = Peak(before, {}), -1
    for index in range(len(history)):
        entry = history[index]
        if entry["action"] == "alloc":
            live[entry["addr"]] = entry["size"], f"{_part(entry, parts)}{place(entry.get('frames', ()))}"
            total += entry["size"]
        elif entry["action"] == "free_requested":
            if live.pop(entry["addr"], None) is None:
                before -= entry["size"]
            total -= entry["size"]
        is_top = index + 1 == len(history) or history[index + 1]["action"] == "free_requested"
        if is_top and total > highest:
            highest, peak = total, Peak(before, _summed(live.values()))
    return peak


def _summed(blocks: Any) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for size, where in blocks:
        sizes[where] += size
    return dict(sizes.most_common())


def _part(entry: Mapping[str, Any], parts: Sequence[tuple[float, str]]) -> str:
    name = next((name for end, name in parts if entry.get("time_us", 0) <= end), None)
    return f"{name}: " if name else ""


def place(frames: Sequence[Mapping[str, Any]]) -> str:
    """The innermost line of the code that is looked at: the engine, a model or a library of kernels."""
    for frame in frames:
        path = str(frame["filename"])
        if any(sign in path for sign in _TELLING):
            tail = "/".join(path.split("/")[-2:])
            return f"{tail}:{frame['line']} {frame['name']}"
    return NO_LINE


@dataclass
class Allocations:
    """Records one step; `figures` are GiB."""

    known: Mapping[str, int]
    """Bytes of what is held all the time, by name: weights, optimizer."""
    held_before: int = 0
    history: list[Mapping[str, Any]] = field(default_factory=list)

    @contextmanager
    def recording(self) -> Iterator[Allocations]:
        torch.cuda.synchronize()
        self.held_before = torch.cuda.memory_allocated()
        torch.cuda.memory._record_memory_history(
            enabled="all", context="alloc", stacks="python", max_entries=_MOST_ENTRIES
        )
        try:
            yield self
        finally:
            torch.cuda.synchronize()
            snapshot = torch.cuda.memory._snapshot()
            self.history = snapshot["device_traces"][torch.cuda.current_device()]
            torch.cuda.memory._record_memory_history(enabled=None)

    def figures(self, parts: Sequence[tuple[float, str]] = (), most: int = 25) -> dict[str, Any]:
        peak = find_peak(self.history, self.held_before, parts)
        other = peak.before - sum(self.known.values())
        return {
            "total": peak.total / GIB,
            **{name: size / GIB for name, size in self.known.items()},
            "other, from before the step": other / GIB,
            "by place": {where: size / GIB for where, size in list(peak.by_place.items())[:most]},
        }
