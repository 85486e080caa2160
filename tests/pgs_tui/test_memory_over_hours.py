"""An hour of a lively run, told at 20 events a second: nothing but what is kept of every step may grow."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

from engine.events import Ack, Alert, Checkpoint, Eval, Event, Gpu, Host, Phase, StepMemory, StepTime
from pgs_tui.history.history import History
from tests.pgs_tui.making import step

SECONDS, STEPS_A_SECOND = 3600, 16
TAKEN_APART = 10
"""Only every tenth second is folded: the same kinds of events in the same proportions, in less time."""
BYTES_A_STEP = 120
"""What is kept of a step, and of the evaluations, checkpoints and alerts among them, with the arrays' reserve."""


def second(number: int) -> Iterator[Event]:
    """Twenty events; an incident of three steps each minute, an evaluation and a checkpoint each half of one."""
    first = number * STEPS_A_SECOND + 1
    time, mem = StepTime(data=0.01, forward=0.02, backward=0.03), StepMemory(peak=10.0, allocated=9.0)
    for place in range(STEPS_A_SECOND):
        yield step(first + place, time=time, mem=mem, rows=(first, first + 1), rank=0)
    yield step(first, rank=1)
    yield Gpu(index=0, uuid="a", utilisation=90.0, temperature=70.0, power=300.0 + number % 9)
    yield Host(cpu=100.0, rss=2.0, disk_free=50.0)
    yield Phase(name="training")
    if number % 20 == 0:
        state = ("open", "update", "closed")[number // 20 % 3]
        yield Alert(
            id=f"spike-{number // 60}",
            state=state,  # type: ignore[arg-type]
            code="SPIKE_TAKEN",
            severity="warning",
            meaning="a spike",
            step=first,
            metric="loss",
            value=9.0,
            rows=(first, first + 1),
        )
        yield Ack(id=str(number), ok=True, message="done")
    if number % 30 == 0:
        yield Eval(step=first, loss=1.0, seconds=1.0)
        yield Checkpoint(step=first, path=f"checkpoints/step-{first}", seconds=1.0, bytes=1)


def fold(history: History, seconds: range) -> None:
    for number in seconds:
        for event in second(number):
            history.take(event, float(number), number * 10_000)
        if number % 100 == 0:
            look(history, number * STEPS_A_SECOND)


def look(history: History, step: int) -> None:
    end = SECONDS * STEPS_A_SECOND
    history.columns("loss", 1, end, 180)
    history.smooth_columns("loss", 0.98, 1, end, 180)
    history.part_columns(1, end, 180)
    history.gpu_columns(0, "power", 1, end, 180)
    history.column_marks(1, end, 180)
    history.at(step, read=False)


def test_memory_grows_by_what_is_kept_of_the_steps_alone() -> None:
    history, quarter = History(), SECONDS // 4
    tracemalloc.start()
    try:
        fold(history, range(0, quarter, TAKEN_APART))
        gc.collect()
        early = tracemalloc.get_traced_memory()[0]
        fold(history, range(quarter, SECONDS, TAKEN_APART))
        gc.collect()
        late = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert (late - early) / (len(history.steps) * 3 / 4) <= BYTES_A_STEP
