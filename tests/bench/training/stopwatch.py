"""Milliseconds of an operation on the device, the median of several."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from engine.errors import is_out_of_memory


def milliseconds(operation: Callable[[], Any], device: torch.device, repeats: int) -> float:
    """The median time of `operation`, after three that do not count; on a GPU by its own clock."""
    for _ in range(3):
        operation()
    return statistics.median(_once(operation, device) for _ in range(repeats))


def _once(operation: Callable[[], Any], device: torch.device) -> float:
    if device.type != "cuda":
        begin = time.perf_counter()
        operation()
        return (time.perf_counter() - begin) * 1e3
    begin_event, end_event = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    begin_event.record()
    operation()
    end_event.record()
    end_event.synchronize()
    taken: float = begin_event.elapsed_time(end_event)
    return taken


def why_not(operation: Callable[[], Any]) -> str | None:
    """Why an operation cannot run here, in one line; None when it can."""
    try:
        operation()
    except (ImportError, RuntimeError, TypeError) as error:
        if is_out_of_memory(error):
            return "out of memory"
        return " ".join(str(error).split())[:200] or type(error).__name__
    return None
