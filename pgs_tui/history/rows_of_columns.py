"""A block of steps as single steps, where one has to look at each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from engine.events import Step, StepMemory, StepTime
from engine.events.columns import StepColumns
from pgs_tui.history.strays import FAR, Told


def step_at(block: StepColumns, place: int) -> Told:
    """The step at a place. What columns do not hold (rows, loss tokens, parts of the memory) is left empty."""

    def read(name: str) -> float | None:
        value = block.values[name][place]
        return None if value != value and place not in block.nan_at.get(name, ()) else value

    def number(name: str) -> float:
        return block.values[name][place]

    time = StepTime(**{part: read(f"time.{part}") for part in ("data", "forward", "backward", "optimizer", "gc")})
    mem = StepMemory(allocated=read("mem.allocated"), reserved=read("mem.reserved"), peak=read("mem.peak"))
    step = Step(
        step=block.step[place],
        epoch=number("epoch"),
        loss=read("loss"),
        lr=number("lr"),
        grad_norm=read("grad_norm"),
        dt=number("dt"),
        tokens=int(number("tokens")),
        slots=int(number("slots")),
        loss_tokens=0,
        tok_s=number("tok_s"),
        time=time,
        mem=mem,
        hidden_norm=read("hidden_norm"),
        moved=read("moved"),
        skipped=bool(number("skipped")),
    )
    return Told(step, block.t[place], block.offset[place])


def steps_of(block: StepColumns, start: int = 0) -> Iterator[Told]:
    """The steps from a place on, one by one."""
    return (step_at(block, place) for place in range(max(start, 0), len(block)))


def ascends_steadily(block: StepColumns) -> bool:
    """Whether each step comes after the one before it, and none far behind it."""
    numbers = block.step
    if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1:
        return all(following > one for one, following in pairwise(numbers))
    return all(0 < following - one <= FAR for one, following in pairwise(numbers))
