"""The highest moment of a step from an allocator's history made by hand."""

from __future__ import annotations

from typing import Any

from tests.bench.training.allocations import NO_LINE, find_peak, place

LOSS = ({"filename": "/x/engine/loss.py", "line": 7, "name": "logits"},)
INNER = ({"filename": "/site/torch/nn/functional.py", "line": 1, "name": "linear"}, *LOSS)


def alloc(addr: int, size: int, frames: Any = (), moment: float = 0) -> dict[str, Any]:
    return {"action": "alloc", "addr": addr, "size": size, "frames": frames, "time_us": moment}


def free(addr: int, size: int) -> dict[str, Any]:
    return {"action": "free_requested", "addr": addr, "size": size}


def test_the_peak_holds_what_is_alive_at_the_highest_moment_and_no_more() -> None:
    history = [alloc(1, 50, LOSS), free(1, 50), alloc(1, 30, INNER), alloc(2, 40), free(2, 40), alloc(3, 5, LOSS)]
    peak = find_peak(history, held_before=1000)
    assert peak.total == 1070
    assert peak.by_place == {NO_LINE: 40, "engine/loss.py:7 logits": 30}


def test_what_was_held_before_and_is_freed_counts_no_longer() -> None:
    history = [free(99, 400), alloc(1, 300, LOSS), alloc(2, 500, LOSS)]
    peak = find_peak(history, held_before=1000)
    assert (peak.before, peak.total) == (600, 1400)


def test_without_anything_above_it_the_beginning_is_the_peak() -> None:
    assert find_peak([free(99, 400)], held_before=1000).total == 600
    assert find_peak([], held_before=1000).total == 1000


def test_the_part_of_the_step_stands_before_the_place() -> None:
    history = [alloc(1, 10, LOSS, moment=5), alloc(2, 20, LOSS, moment=15)]
    peak = find_peak(history, 0, parts=[(10, "forward"), (20, "backward")])
    assert peak.by_place == {"backward: engine/loss.py:7 logits": 20, "forward: engine/loss.py:7 logits": 10}


def test_a_place_is_the_innermost_line_of_known_code() -> None:
    assert place(INNER) == "engine/loss.py:7 logits"
    assert place(()) == NO_LINE
