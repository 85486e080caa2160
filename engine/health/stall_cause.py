"""Why a step took long: the part, or the thing beside the training, that its time went to."""

from __future__ import annotations

from dataclasses import dataclass

from engine.events.types import Step

LARGE_PART = 0.5
"""A part that takes this share of the time lost is its cause."""
PRESSED, CPU_PRESSED = 20.0, 50.0
"""Percent of the time that some process waited for a disk, for a core."""


@dataclass(frozen=True, slots=True)
class Cause:
    """`name` chooses the remedies, `sentence` ends an alert's meaning."""

    name: str
    sentence: str


START, EVALUATION, CHECKPOINT, PAUSE = "the start", "an evaluation", "a checkpoint", "a pause"
"""What a step may come after."""
DATA, COLLECTION, COMPILER, THROTTLING, DISK, CPU, NEIGHBOUR, UNKNOWN = (
    "data",
    "gc",
    "compiler",
    "throttling",
    "disk",
    "cpu",
    "neighbour",
    "unknown",
)
NO_CAUSE = Cause(UNKNOWN, "no cause is seen in its parts, the GPU or the disk")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was beside a step: `after` is what came right before it, if anything did."""

    after: str | None = None
    slowed_by: tuple[str, ...] = ()
    io_pressure: float = 0.0
    others_gib: float = 0.0
    cpu_pressure: float = 0.0


NOTHING = Surroundings()


def cause_of(step: Step, lost: float, around: Surroundings) -> Cause:
    """The cause of `lost` seconds in a step, the surest first."""
    collected, waited = step.time.gc or 0.0, step.time.data or 0.0
    pressed = around.io_pressure >= PRESSED
    if step.recompiles:
        graphs = "a graph was" if step.recompiles == 1 else f"{step.recompiles} graphs were"
        return Cause(COMPILER, f"{graphs} compiled in it")
    if collected >= LARGE_PART * lost:
        return Cause(COLLECTION, f"{collected:.2g} s of it collected garbage")
    if waited >= LARGE_PART * lost:
        if pressed:
            return Cause(DISK, f"{waited:.2g} s of it waited for data, while the disk was busy")
        return Cause(DATA, f"{waited:.2g} s of it waited for data")
    if around.after is not None:
        return Cause(around.after, f"it came right after {around.after}")
    if around.slowed_by:
        return Cause(THROTTLING, f"the GPU's clocks were low: {', '.join(around.slowed_by)}")
    if pressed:
        return Cause(DISK, f"processes waited for the disk {around.io_pressure:.0f} % of the time")
    return by_what_else_runs(around) or NO_CAUSE


def by_what_else_runs(around: Surroundings) -> Cause | None:
    """Other programs on the CPU or the GPU."""
    if around.cpu_pressure >= CPU_PRESSED:
        return Cause(CPU, f"processes waited for a core {around.cpu_pressure:.0f} % of the time")
    if around.others_gib > 0:
        return Cause(NEIGHBOUR, f"another process uses the GPU ({around.others_gib:.1f} GiB)")
    return None
