"""Steps that are slower than this run's best ones, or than was expected of them, for long enough to matter."""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass
from typing import Any

from engine.events.types import Step
from engine.health.baseline import quantile
from engine.health.finding import Finding
from engine.health.partners import BATCH
from engine.health.slow_steps import MORE_WORKERS
from engine.health.stall_cause import DATA, NO_CAUSE, THROTTLING, Cause, Surroundings, by_what_else_runs
from engine.health.symptom import CAUSE, Remedy, Settings, Symptom, times, to

BLOCK = 25
"""Steps of a block, whose median speed is one value."""
BLOCKS = 400
"""Blocks that the best speed is taken from: the one that a tenth of them reached."""
BEST = 0.9
FIRST_BLOCKS = 4
LOW, LOW_BLOCKS, LOW_SECONDS = 0.6, 4, 60.0
"""A speed below this share of the best, in so many blocks in a row, which took so long."""
OVER_ABOVE = 0.75
BELOW_EXPECTED = 0.5
"""A speed below this share of the expected one: estimates rest on full batches of an H200 and are no closer."""
FULL = 0.8
"""Blocks whose steps have this share of the widest step's slots are held against what was expected of that."""
WAITING = 0.2
"""Share of the time that waits for data, from which that is the cause."""
PADDED = 0.3
SLOW_PATHS, NOT_COMPILED, PADDING = "slow paths", "not compiled", "padding"


def _is_not_packed(settings: Settings) -> bool:
    return settings.get("data.packing") is False


SYMPTOMS = {
    "THROUGHPUT_LOW": Symptom(
        "warning",
        "{value} tokens a second with padding, {compared}: {cause}",
        (
            MORE_WORKERS,
            Remedy("model.compile", to(True), "compiled layers are quicker", causes=frozenset({NOT_COMPILED})),
            Remedy(
                "data.packing",
                to(True),
                "fills lines with chats instead of padding",
                causes=frozenset({PADDING, NOT_COMPILED, NO_CAUSE.name}),
                applies=_is_not_packed,
            ),
            Remedy(BATCH, times(2.0), "a larger batch keeps the GPU busy", causes=frozenset({NO_CAUSE.name})),
        ),
        ending="it is as quick as before",
        beyond="`pgs doctor` says which kernels this machine has; `nvidia-smi` shows what else uses the GPU",
    ),
}


@dataclass(frozen=True, slots=True)
class _Block:
    speed: float
    seconds: float
    slots: float
    waiting: float
    padding: float


class ThroughputDetector:
    """Watches slots a second: tokens with padding, which is what the GPU computes."""

    def __init__(self) -> None:
        self._steps: list[tuple[float, int, float, int]] = []
        self._speeds: deque[float] = deque(maxlen=BLOCKS)
        self._low: list[_Block] = []
        self._below_expected: list[_Block] = []
        self._widest = 0
        self._found = False

    def check(
        self,
        step: Step,
        around: Surroundings,
        expected: float | None = None,
        slow_paths: tuple[str, ...] = (),
        compiles: bool | None = None,
    ) -> Finding | None:
        """Take in a step; return what is wrong while it is. `expected` is in slots a second, of the widest step.

        `slow_paths` are sentences about what runs slower here than it could, `compiles` whether layers are compiled.
        """
        if step.slots <= 0 or step.dt <= 0 or around.after is not None:
            return self._go_on()
        self._widest = max(self._widest, step.slots)
        self._steps.append((step.dt, step.slots, step.time.data or 0.0, step.tokens))
        if len(self._steps) < BLOCK:
            return self._go_on()
        block = _block(self._steps)
        self._steps = []
        return self._judge(block, around, expected, slow_paths, compiles)

    def state_dict(self) -> dict[str, Any]:
        """What was the best goes on; a block that is half done, and a low that has just begun, start anew."""
        return {"speeds": list(self._speeds), "widest": self._widest, "found": self._found}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._speeds = deque(state["speeds"], maxlen=BLOCKS)
        self._widest, self._found = state["widest"], state["found"]

    def _go_on(self) -> Finding | None:
        return Finding() if self._found else None

    def _judge(
        self,
        block: _Block,
        around: Surroundings,
        expected: float | None,
        slow_paths: tuple[str, ...],
        compiles: bool | None,
    ) -> Finding | None:
        best = quantile(sorted(self._speeds), BEST) if len(self._speeds) >= FIRST_BLOCKS else None
        self._speeds.append(block.speed)
        is_low = best is not None and block.speed < LOW * best
        is_full = block.slots >= FULL * self._widest
        is_below = expected is not None and is_full and block.speed < BELOW_EXPECTED * expected
        self._low = [*self._low, block] if is_low else []
        self._below_expected = [*self._below_expected, block] if is_below else []
        if self._found:
            recovered = best is None or block.speed >= OVER_ABOVE * best
            self._found = not (recovered and not is_below)
            return self._go_on()
        lasting = next((low for low in (self._low, self._below_expected) if _lasts(low)), None)
        if lasting is None:
            return None
        self._found = True
        against_best = lasting is self._low
        reference = best if against_best else expected
        assert reference is not None, "a block is low against something"
        told = f"this run's best is {reference:,.0f}" if against_best else f"{reference:,.0f} were expected"
        always = NO_CAUSE if against_best else _from_the_start(block, slow_paths, compiles)
        cause = _cause(block, around) or always
        return Finding(
            block.speed,
            reference,
            words={"value": f"{block.speed:,.0f}", "compared": told, "cause": cause.sentence},
            facts={CAUSE: cause.name},
        )


def _block(steps: list[tuple[float, int, float, int]]) -> _Block:
    seconds, slots = sum(step[0] for step in steps), sum(step[1] for step in steps)
    return _Block(
        speed=statistics.median(slots / dt for dt, slots, _, _ in steps),
        seconds=seconds,
        slots=slots / len(steps),
        waiting=sum(step[2] for step in steps) / seconds,
        padding=1 - sum(step[3] for step in steps) / slots,
    )


def _lasts(blocks: list[_Block]) -> bool:
    return len(blocks) >= LOW_BLOCKS and sum(block.seconds for block in blocks) >= LOW_SECONDS


def _cause(block: _Block, around: Surroundings) -> Cause | None:
    """What has come to slow the steps, the surest first."""
    if block.waiting >= WAITING:
        return Cause(DATA, f"{block.waiting:.0%} of the time waits for data")
    if around.slowed_by:
        return Cause(THROTTLING, f"the GPU's clocks are low: {', '.join(around.slowed_by)}")
    return by_what_else_runs(around)


def _from_the_start(block: _Block, slow_paths: tuple[str, ...], compiles: bool | None) -> Cause:
    """What holds all the time and makes a run slower than was expected: no cause of a change."""
    if slow_paths:
        return Cause(SLOW_PATHS, " ".join(slow_paths))
    if compiles is False:
        return Cause(NOT_COMPILED, "the layers are not compiled")
    if block.padding >= PADDED:
        return Cause(PADDING, f"{block.padding:.0%} of the slots are padding")
    return NO_CAUSE
