"""Run directories of any length, as our engine would have written them, and steps that come while somebody watches."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from engine.events import (
    End,
    Eval,
    Event,
    Gpu,
    Host,
    ModelInfo,
    Phase,
    Start,
    Step,
    StepMemory,
    StepTime,
    encode,
)
from engine.rundir import RunDir, this_process, write_run_info

SECONDS_A_STEP = 0.5
EVALS = 20
TOKENS = 1024
_MEMORY = StepMemory(
    allocated=15.7, reserved=16.4, peak=16.1, weights=7.8, gradients=0.3, optimizer=2.1, activations=4.9, other=0.6
)


def steps_from(first: int, seed: int = 7) -> Iterator[Step]:
    """Steps of a run that goes well: a falling loss, steady times, a little noise in everything."""
    chance = random.Random(seed)
    step = Step(
        step=0,
        epoch=0.0,
        loss=0.0,
        lr=1e-5,
        grad_norm=0.0,
        dt=0.0,
        tok_s=0.0,
        tokens=TOKENS,
        slots=1100,
        loss_tokens=600,
        mem=_MEMORY,
    )
    number = first
    while True:
        dt = SECONDS_A_STEP * (1 + abs(chance.gauss(0, 0.04)))
        yield replace(
            step,
            step=number,
            epoch=number / 50_000,
            loss=1.65 + 3.6 * math.exp(-number / 8_000) + chance.gauss(0, 0.05),
            grad_norm=0.3 + math.exp(-number / 40) + abs(chance.gauss(0, 0.05)),
            dt=dt,
            tok_s=TOKENS / dt,
            moved=0.9 + chance.random() * 0.05,
            time=StepTime(data=dt * 0.01, forward=dt * 0.3, backward=dt * 0.6, optimizer=dt * 0.07, gc=0.0),
            rows=(number, number + 1, number + 2, number + 3),
        )
        number += 1


class LineMaker:
    """Lines of steps, from a template: the encoder would take a quarter of a minute for a million."""

    def __init__(self) -> None:
        time_parts = StepTime(data=7000001.5, forward=7000002.5, backward=7000003.5, optimizer=0.035, gc=0.0)
        step = replace(next(steps_from(1)), step=7000004, epoch=7000005.5, loss=7000006.5, grad_norm=7000007.5)
        step = replace(step, dt=7000008.5, tok_s=7000009.5, moved=7000010.5, time=time_parts)
        line = encode(step, 7000011.5).replace("%", "%%")
        found = {7000011.5: "t", 7000004: "step", time_parts.data: "data", time_parts.forward: "forward"}
        found |= {time_parts.backward: "backward", step.dt: "dt", step.tok_s: "tok_s"}
        names = {"epoch": step.epoch, "loss": step.loss, "grad_norm": step.grad_norm, "moved": step.moved}
        for mark, name in (*found.items(), *((value, name) for name, value in names.items())):
            assert line.count(repr(mark)) == 1, f"{mark} in {line}"
            line = line.replace(repr(mark), f"%({name})r")
        self._line = line + "\n"

    def line(self, step: Step, t: float) -> str:
        """The line of the step at the time `t`; its rows are those of the template."""
        parts = {"data": step.time.data, "forward": step.time.forward, "backward": step.time.backward}
        return self._line % (vars_of(step) | parts | {"t": t})


def vars_of(step: Step) -> dict[str, object]:
    """The fields that differ from step to step."""
    return {name: getattr(step, name) for name in ("step", "epoch", "loss", "grad_norm", "dt", "tok_s", "moved")}


def write_run(folder: Path, steps: int, total: int | None = None, ended: bool = True, readings: bool = True) -> RunDir:
    """A run of so many steps, with GPU and host each second of it unless `readings` is off; kept when it is there.

    A run that has not ended is of this process, so that it goes on.
    """
    run = RunDir(folder)
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with run.events.open("w") as log:
            _write_events(log, folder.name, steps, total or steps, ended, readings)
        run.console_log.write_text("")
        (folder / "made").touch()
    if not ended:
        write_run_info(run, this_process(run, "bench"))
    return run


def _write_events(log: IO[str], name: str, steps: int, total: int, ended: bool, readings: bool) -> None:
    begin = time.time() - steps * SECONDS_A_STEP
    maker, source = LineMaker(), steps_from(1)
    start = Start(
        run=name,
        command="pgs train",
        config="bench",
        model=ModelInfo(name="made up", params=4_000_000, trainable=3_000_000),
        device="cuda",
        gpus=("NVIDIA A100-SXM4-40GB",),
        total_steps=total,
    )
    for event in (Phase(name="loading model", progress=0.4), start, Phase(name="training")):
        log.write(encode(event, begin) + "\n")
    machine = _machine()
    for number in range(1, steps + 1):
        t = begin + number * SECONDS_A_STEP
        step = next(source)
        log.write(maker.line(step, t))
        if readings and number % 2 == 0:
            log.writelines(encode(event, t) + "\n" for event in machine)
        if number % max(steps // EVALS, 1) == 0:
            log.write(encode(Eval(step=number, loss=step.loss or 0.0, tokens=4096, best=True), t) + "\n")
    if ended:
        end = End(status="finished", reason="all steps done", exit_code=0, last_step=steps)
        log.write(encode(end, begin + steps * SECONDS_A_STEP) + "\n")


def _machine() -> tuple[Event, Event]:
    host = Host(cpu=187.1, rss=1.23, disk_free=312.1, cores=2, memory_available=19.0, memory_total=24.0)
    gpu = Gpu(index=0, uuid="GPU-1", name="A100", utilisation=98, used_by_us=16.4, used_by_others=0.4, total=39.4)
    return host, replace(gpu, temperature=63, power=291)


class Going:
    """A run whose steps come when they are asked for."""

    def __init__(self, run: RunDir, last: int) -> None:
        self._log = run.events.open("a", buffering=1)
        self._steps = steps_from(last + 1, seed=11)

    def step(self) -> None:
        """One more step, now."""
        self._log.write(encode(next(self._steps), time.time()) + "\n")

    def close(self) -> None:
        self._log.close()
