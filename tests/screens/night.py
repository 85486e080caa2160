"""A night of training in which much happens: spikes, a value that is no number, a crash and a resume, a hot GPU."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import cache

from engine.events import (
    Advice,
    Alert,
    Checkpoint,
    Estimate,
    Eval,
    Event,
    Gpu,
    ModelInfo,
    Phase,
    Resume,
    Stamped,
    Start,
    Step,
    StepMemory,
    StepTime,
)
from pgs_tui.runs.follow import Update

BEGIN = 1000.0
STEPS, CRASHED_AT, RESUMED_FROM = 600, 460, 450
SPIKES, NOT_A_NUMBER, STALLED = (200, 203), 330, 390
HOT = range(500, 540)
MODEL = ModelInfo(name="m", params=4_000_000_000, trainable=4_000_000_000)
MEMORY = StepMemory(
    allocated=15.7, reserved=19.0, peak=16.1, weights=8.0, gradients=1.0, optimizer=2.0, activations=3.0, other=1.0
)
START = Start(run="r", command="c", config="x", model=MODEL, device="cuda", total_steps=1000, gpus=("A100",))


@cache
def night(ranks: int = 1, gpus: int = 1) -> Update:
    """All of it as one update; every rank but the first is slower than the one before."""
    return Update(events=tuple(_events(ranks, gpus)), log=("the log says hello", "and goes on"), life="live")


def end_of_night() -> float:
    """When the last event was written, unix seconds."""
    return night().events[-1].t


def _events(ranks: int, gpus: int) -> list[Stamped]:
    chance = random.Random(7)
    estimate = Estimate(peak=17.2, reserved=19.5, components={"weights": 8.0}, decides="backward")
    told: list[Stamped] = []
    now = BEGIN

    def tell(*events: Event) -> None:
        told.extend(Stamped(now, event) for event in events)

    tell(START, estimate, Phase(name="training"))
    for number in (*range(1, CRASHED_AT + 1), *range(RESUMED_FROM + 1, STEPS + 1)):
        if number == RESUMED_FROM + 1 and now > BEGIN + 1.1 * CRASHED_AT:
            now += 3600
            tell(START, estimate, Resume(from_step=RESUMED_FROM, checkpoint=f"checkpoints/step-{RESUMED_FROM}"))
        step = _step(number, chance)
        now += step.dt
        tell(step, *(_of_rank(step, rank) for rank in range(1, ranks)), *(_gpu(number, index) for index in range(gpus)))
        tell(*_what_follows(number))
    return told


def _step(number: int, chance: random.Random) -> Step:
    loss: float | None = 1.2 + 2 * math.exp(-number / 150) + chance.gauss(0, 0.04)
    skipped = number in SPIKES or number == NOT_A_NUMBER
    if number in SPIKES:
        loss = 9.4
    elif number == NOT_A_NUMBER:
        loss = math.nan
    dt = 14.0 if number == STALLED else 1.2 + chance.random() * 0.06 + (0.5 if number in HOT else 0.0)
    waiting = 12.9 if number == STALLED else 0.03
    return Step(
        step=number,
        epoch=number / 500,
        loss=loss,
        lr=1e-5 * min(number / 60, 1) * (0.5 + 0.5 * math.cos(math.pi * number / 1000)),
        grad_norm=None if skipped else 0.3 + abs(chance.gauss(0, 0.04)),
        hidden_norm=0.1,
        dt=dt,
        tokens=4000,
        slots=4200,
        loss_tokens=2000,
        tok_s=4000 / dt,
        moved=None if skipped else 0.97 + chance.random() * 0.02,
        time=StepTime(data=waiting, forward=0.3 * (dt - waiting), backward=0.6 * (dt - waiting), optimizer=None),
        mem=MEMORY,
        skipped=skipped,
        rows=(2 * number, 2 * number + 1),
    )


def _of_rank(step: Step, rank: int) -> Step:
    return replace(step, dt=step.dt * (1 + 0.3 * rank), tok_s=step.tok_s / (1 + 0.3 * rank), rank=rank)


def _gpu(number: int, index: int) -> Gpu:
    hot = number in HOT and index == 0
    return Gpu(
        index=index,
        uuid=f"GPU-{index}",
        name="A100",
        utilisation=3 if number == STALLED else 70 if hot else 97 - 20 * index,
        used_by_us=15.7,
        total=39.4,
        temperature=91 if hot else 62 + 5 * math.sin(number / 40),
        power=210 if hot else 295,
        throttle=("thermal",) if hot else (),
    )


def _what_follows(number: int) -> list[Event]:
    told: list[Event] = []
    if number in SPIKES or number == NOT_A_NUMBER:
        told.append(_alert(number))
    if number % 150 == 0:
        loss = 1.3 + 2 * math.exp(-number / 150) + (0.2 if number == STEPS else 0.0)
        told += [
            Phase(name="evaluating"),
            Eval(step=number, loss=loss, best=number < STEPS, seconds=20.0),
            Checkpoint(step=number, path=f"checkpoints/step-{number}", seconds=9.0, bytes=8 * 10**9),
            Phase(name="training"),
        ]
    return told


def _alert(number: int) -> Alert:
    spike = number in SPIKES
    return Alert(
        id="spike" if spike else "nan",
        state="open" if number != SPIKES[-1] else "update",
        code="SPIKE_SKIPPED" if spike else "NON_FINITE_LOSS",
        severity="warning" if spike else "error",
        meaning="The loss of this batch lies far above those before it." if spike else "The loss is no number.",
        step=number,
        metric="loss",
        value=9.4 if spike else math.nan,
        baseline=1.7,
        spread=0.11 if spike else None,
        count=1 + SPIKES.index(number) if spike else 1,
        rows=(2 * number, 2 * number + 1),
        advice=(Advice(key="train.learning_rate", value=1e-6, why="smaller steps do not jump that far"),),
    )
