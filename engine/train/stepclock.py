"""Where the seconds of a step go."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from engine.events import StepTime

_DEVICE_PARTS = ("forward", "backward", "optimizer")


class StepClock:
    """Measures each step and its parts.

    On the CPU a part is wall time. On a GPU forward, backward and optimizer are timed by CUDA events, which are read
    one step late, so that no step waits for its own clock: the parts shown with a step are those of the step before.
    The time of garbage collection counts from the end of the step before, since it is done between steps.
    `resume` leaves out what came since the last step (evaluation, saving, a pause).
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._mark = time.perf_counter()
        self._part_mark = self._mark
        self._wall: dict[str, float] = {}
        self._device_laps: list[tuple[str, Any, Any]] = []
        self._earlier_laps: list[tuple[str, Any, Any]] = []
        self._device_parts: dict[str, float] = {}
        self._last_event: Any = None
        self._collecting_since = 0.0
        self._collected = 0.0
        gc.callbacks.append(self._on_collection)

    def close(self) -> None:
        """Stop listening to the garbage collector."""
        gc.callbacks.remove(self._on_collection)

    def start(self) -> None:
        """A step begins."""
        self._wall = {}
        self._part_mark = time.perf_counter()

    def lap(self, part: str) -> None:
        """What happened since the start or the last lap was `part`; parts of the same name add up."""
        now = time.perf_counter()
        if self._on_gpu:
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record()
            if part in _DEVICE_PARTS and self._last_event is not None:
                self._device_laps.append((part, self._last_event, event))
            self._last_event = event
        self._wall[part] = self._wall.get(part, 0.0) + now - self._part_mark
        self._part_mark = now

    def finish(self) -> tuple[float, StepTime]:
        """The step's seconds, and its parts."""
        now = time.perf_counter()
        seconds, self._mark = now - self._mark, now
        self._read_earlier_laps()
        parts = self._device_parts if self._on_gpu else self._wall
        device = {name: parts.get(name) for name in _DEVICE_PARTS}
        collected, self._collected = self._collected, 0.0
        return seconds, StepTime(data=self._wall.get("data"), gc=collected, **device)

    def resume(self) -> None:
        """Training goes on after something that was no part of it."""
        self._mark = time.perf_counter()
        self._last_event = None
        self._collected = 0.0

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """What happens within, in the midst of a step, is no part of it."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - begin
            self._mark += elapsed
            self._part_mark += elapsed
            self._last_event = None

    def _read_earlier_laps(self) -> None:
        """Read the step before. Its events are over by now, since this step has waited for its own loss and norm."""
        earlier, self._earlier_laps, self._device_laps = self._earlier_laps, self._device_laps, []
        if earlier and earlier[-1][2].query():
            self._device_parts = dict.fromkeys((part for part, _, _ in earlier), 0.0)
            for part, begin, end in earlier:
                self._device_parts[part] += begin.elapsed_time(end) / 1000

    def _on_collection(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            self._collecting_since = time.perf_counter()
        else:
            self._collected += time.perf_counter() - self._collecting_since
