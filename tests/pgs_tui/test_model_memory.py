"""What the whole past of a run takes of the memory, in bytes a step."""

from __future__ import annotations

import gc
import math
import random
import tracemalloc
from array import array

from engine.events.columns import STEP_VALUES, StepColumns
from pgs_tui.history.history import History

STEPS, BLOCK = 40_000, 4_000
BYTES_A_STEP = 94
"""What the arrays hold in reserve included, which is memory that nobody has touched."""


def block_of(begin: int, loss: float | None = None) -> StepColumns:
    chance = random.Random(begin)
    drawn = [chance.random() for _ in range(BLOCK)]
    values = {name: array("d", drawn) for name in STEP_VALUES}
    values["skipped"] = array("d", [0.0] * BLOCK)
    values["time.optimizer"] = array("d", [math.nan] * BLOCK)
    nan_at = {}
    if loss is not None:
        values["loss"], nan_at = array("d", [loss] * BLOCK), {"loss": array("q", range(BLOCK))}
    numbers = array("q", range(begin + 1, begin + BLOCK + 1))
    return StepColumns(numbers, array("d", numbers), array("q", [number * 840 for number in numbers]), values, nan_at)


def bytes_a_step(blocks: list[StepColumns]) -> float:
    """By how much a history grows with each step of the blocks but the first, and what charts need of it."""
    history = History()
    history.extend(blocks[0])
    gc.collect()
    tracemalloc.start()
    try:
        for block in blocks[1:]:
            history.extend(block)
        for metric in ("loss", "grad_norm", "tok_s", "dt"):
            history.smooth_columns(metric, 0.98, 1, STEPS, 180)
            history.columns(metric, 1, STEPS, 180)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / (STEPS - BLOCK)
    finally:
        tracemalloc.stop()


def test_a_step_takes_what_a_million_of_them_may() -> None:
    assert bytes_a_step([block_of(begin) for begin in range(0, STEPS, BLOCK)]) <= BYTES_A_STEP


def test_a_run_that_never_recovers_from_nan_takes_little_more() -> None:
    blocks = [block_of(begin, loss=math.nan) for begin in range(0, STEPS, BLOCK)]
    assert bytes_a_step(blocks) <= BYTES_A_STEP + 20, "a mark is two numbers, not an object"
