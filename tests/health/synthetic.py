"""Runs as they are when nothing is wrong: losses, norms, times, memory and masks of steps, with all their noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from engine.events.types import (
    Alert,
    Checkpoint,
    Eval,
    Event,
    Gpu,
    Host,
    ModelInfo,
    Phase,
    Stamped,
    Start,
    Step,
    StepMemory,
    StepTime,
)
from engine.health import RunWatch

Fault = Callable[[Step], Step]
LONGEST, ROWS = 2048, 4


@dataclass(frozen=True, slots=True)
class SyntheticRun:
    """A healthy run; `fault` changes its steps. A card of 80 GiB, a machine of 256."""

    steps: int = 2000
    last: int | None = None
    """Its log ends with this step, where it ends before the run is through."""
    seed: int = 0
    start_loss: float = 4.0
    end_loss: float = 1.6
    noise: float = 0.05
    """Of the loss, as a share; that of the gradient norm is three times as large."""
    warmup: int = 100
    seconds: float = 1.0
    jitter: float = 0.04
    packed: bool = False
    eval_every: int | None = 200
    save_every: int | None = 500
    fault: Fault = field(default=lambda step: step)
    eval_fault: Callable[[Eval], Eval] = field(default=lambda evaluation: evaluation)
    reading_fault: Callable[[int, Gpu | Host], Gpu | Host] = field(default=lambda number, reading: reading)
    """Gets the number of the step besides."""

    def events(self) -> Iterator[Stamped]:
        """All events in the order of the log."""
        rng = random.Random(self.seed)
        model = ModelInfo(name="m", params=1, trainable=1)
        t = 1000.0
        start = Start(
            run="r", command="c", config="c", model=model, device="cuda", total_steps=self.steps, slow_paths=()
        )
        yield Stamped(t, start)
        yield Stamped(t, Phase(name="compiling"))
        for number in range(1, (self.last or self.steps) + 1):
            step = self.fault(self._step(rng, number))
            for second in range(max(1, min(3, round(step.dt)))):
                yield from (
                    Stamped(t + second, self.reading_fault(number, reading)) for reading in self._readings(rng, step)
                )
            t += step.dt
            yield Stamped(t, step)
            for event in self._between(rng, number):
                t += 0.1
                yield Stamped(t, event)

    def _between(self, rng: random.Random, number: int) -> Iterator[Event]:
        if self.eval_every is not None and number % self.eval_every == 0:
            yield Phase(name="evaluating")
            loss = self._level(number) * 1.05 * rng.lognormvariate(0, 0.002)
            yield self.eval_fault(Eval(step=number, loss=loss, tokens=10_000, seconds=30.0))
            yield Phase(name="training")
        if self.save_every is not None and number % self.save_every == 0:
            yield Phase(name="saving")
            yield Checkpoint(step=number, path=f"checkpoints/step-{number}", seconds=20.0, bytes=10**10)
            yield Phase(name="training")

    def _level(self, number: int) -> float:
        return self.end_loss + (self.start_loss - self.end_loss) * (1 + number / 50) ** -0.7

    def _step(self, rng: random.Random, number: int) -> Step:
        lengths = [LONGEST] * ROWS if self.packed else [rng.randint(100, LONGEST) for _ in range(ROWS)]
        slots, tokens = max(lengths) * ROWS, sum(lengths) - (rng.randint(0, 200) if self.packed else 0)
        asked = rng.uniform(0.25, 0.75)
        dt = (0.15 + 0.85 * slots / (LONGEST * ROWS)) * self.seconds * rng.lognormvariate(0, self.jitter)
        if number % 50 == 0:
            dt += 0.05 * self.seconds
        if number == 1:
            dt += 40.0
        norm = (0.5 + 3.0 * math.exp(-number / 60)) * rng.lognormvariate(0, 3 * self.noise)
        peak = 30 + 35 * slots / (LONGEST * ROWS)
        return Step(
            step=number,
            epoch=number / self.steps,
            loss=self._level(number) * rng.lognormvariate(0, self.noise),
            lr=1e-5 * min(1.0, number / max(self.warmup, 1)) * (1 - number / (self.steps + 1)) ** 4,
            grad_norm=norm,
            hidden_norm=norm * 0.2 * rng.lognormvariate(0, self.noise),
            dt=dt,
            tokens=tokens,
            slots=slots,
            loss_tokens=max(1, int(tokens * asked)),
            tok_s=tokens / dt,
            time=StepTime(data=0.003, forward=0.3 * dt, backward=0.65 * dt, gc=0.04 if number % 50 == 0 else 0.0),
            mem=StepMemory(allocated=30.0 + rng.uniform(0, 0.2), reserved=72.0, peak=peak),
            moved=1.0,
            rows=tuple(range(number * ROWS, number * ROWS + ROWS)),
        )

    def _readings(self, rng: random.Random, step: Step) -> Iterator[Gpu | Host]:
        yield Gpu(
            index=0,
            uuid="GPU-a",
            utilisation=rng.uniform(90, 100),
            used_by_us=72.5,
            used_by_others=0.0,
            total=79.6,
            temperature=64.0,
            throttle=("power cap",) if rng.random() < 0.7 else (),
        )
        yield Host(
            cpu=100.0,
            rss=12.0 + min(step.step, 400) / 400 + rng.uniform(0, 0.05),
            disk_free=500.0,
            memory_available=200.0,
            memory_total=256.0,
            io_pressure=rng.uniform(0, 4),
        )


def from_step(first: int, change: Callable[[Step], Step], last: int | None = None) -> Fault:
    """Change the steps from `first` on, to `last` where that is given."""
    return lambda step: change(step) if first <= step.step <= (last or step.step) else step


def slower(step: Step, seconds: float, **parts: float) -> Step:
    """The step with so many seconds more, and parts of it at other values."""
    return replace(step, dt=step.dt + seconds, time=replace(step.time, **parts))


def watched(events: Iterable[Stamped], watch: RunWatch | None = None) -> list[Alert]:
    watch = watch or RunWatch({})
    return [alert for stamped in events for alert in watch.take(stamped)]
