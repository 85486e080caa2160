"""Runs on the disk to compare: each with the losses that the test wants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.events import End, Eval, Event, ModelInfo, Resume, Stamped, Start
from engine.events.codec import encode
from engine.rundir import RunDir
from pgs_tui.history.history import History
from tests.pgs_tui.making import step

START = Start(
    run="made",
    command="pgs train",
    config="made",
    model=ModelInfo(name="m", params=4, trainable=3),
    device="cpu",
    total_steps=None,
)
FINISHED = End(status="finished", reason="all steps done", exit_code=0, last_step=1)


def falling(steps: int, lift: float = 0.0) -> list[float]:
    return [1.5 + lift + 3 * math.exp(-number / 50) for number in range(steps)]


def told(losses: Sequence[float | None], every: float = 1.0, first: int = 1, **fields: Any) -> list[Stamped]:
    """A step for each loss, `every` seconds after the one before."""
    begin = Stamped(1000.0, START)
    steps = [Stamped(1000.0 + place * every, step(first + place, loss, **fields)) for place, loss in enumerate(losses)]
    return [begin, *steps]


def resumed(events: list[Stamped], from_step: int, losses: Sequence[float], **fields: Any) -> list[Stamped]:
    """The same after a resume, whose steps replace those behind `from_step`."""
    t = events[-1].t + 500
    again = [Stamped(t + place, step(from_step + 1 + place, loss, **fields)) for place, loss in enumerate(losses)]
    return [*events, Stamped(t, Resume(from_step=from_step, checkpoint="checkpoints/step")), *again]


def evaluated(events: list[Stamped], losses: dict[int, float]) -> list[Stamped]:
    """The same with evaluations, told at the end, each of them better than the one before."""
    evals = [
        Stamped(events[-1].t, Eval(step=number, loss=loss, tokens=10, best=True)) for number, loss in losses.items()
    ]
    return [*events, *evals]


def history_of(events: Sequence[Stamped]) -> History:
    history = History()
    history.fold(events)
    return history


def write(folder: Path, events: Sequence[Stamped], end: Event | None = FINISHED) -> RunDir:
    """The run in its folder, over unless `end` is None."""
    folder.mkdir(parents=True, exist_ok=True)
    run = RunDir(folder)
    last = [Stamped(events[-1].t, end)] if end is not None else []
    run.events.write_text("".join(f"{encode(one.event, one.t)}\n" for one in (*events, *last)))
    run.console_log.touch()
    return run
