"""Where the milliseconds and the gibibytes of a step go: one recipe, run with torch's profiler.

    PYTHONPATH=. python tests/bench/step_timeline.py [--recipe all_4x4096_free] [--set model.compile=false] [--out FILE]

The run is a real one (`engine.run`), with marks around the parts of a step. After some steps of warm-up: steps timed
without the profiler, one step whose peak of memory is read part by part, steps under the profiler. Then the process
ends: nothing is saved. Prints tables, and writes JSON. `--shape tiny` tries it on a CPU, where operators stand for
kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from engine.backward.cut import AtCut
from engine.backward.norm import GradientNorms
from engine.config import load_config
from engine.model.decoder import decoder_of
from engine.optim.state import state_tensors
from engine.optim.tensor_optimizer import TensorOptimizer
from engine.run import train_command
from engine.train.loop import Trainer
from tests.bench.training.allocations import Allocations
from tests.bench.training.capped import cap_memory
from tests.bench.training.kernels import NORM, OPTIMIZER
from tests.bench.training.peaks import PeakByPart
from tests.bench.training.recipes import Recipe, recipe_named
from tests.bench.training.timeline import timeline
from tests.bench.training.trace import BACKWARD, DECODER, STEP, read_trace
from tests.bench.training.workload import QWEN3_5_4B, SHAPES, fitting, read_keys, write_workload

MARKED: tuple[tuple[type[Any], str, str], ...] = (
    (TensorOptimizer, "update", OPTIMIZER),
    (GradientNorms, "measure", NORM),
    (GradientNorms, "measure_part", NORM),
    (AtCut, "backward", BACKWARD),
)
MEMORY_STEPS = 2
"""One whose peak is read part by part, one whose allocations are recorded where that is asked for."""
EDGES = 2
"""Profiled steps beside the measured ones: the first begins with an empty queue, the last one's end is not seen."""


def main() -> None:
    options = parse()
    recipe = fitting(recipe_named(options.recipe), options.shape).with_keys(read_keys(options.set))
    os.environ.update(recipe.environment)
    with tempfile.TemporaryDirectory() as folder:
        steps = options.warm_up + options.timed + MEMORY_STEPS + options.profiled + EDGES
        config = write_workload(Path(folder), recipe, options.shape, steps + 1)
        if recipe.card is not None:
            cap_memory(recipe.card)
        watch = StepWatch(recipe, options)
        with watching(watch):
            code = train_command(load_config(config), command="step_timeline", run_dir=None)
    raise SystemExit(f"the run ended with exit code {code} before its steps were measured")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="all_4x4096_free")
    parser.add_argument("--shape", choices=SHAPES, default=QWEN3_5_4B)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--warm-up", type=int, default=4, help="steps before anything is measured")
    parser.add_argument("--timed", type=int, default=5, help="steps timed without the profiler")
    parser.add_argument("--profiled", type=int, default=2, help="steps in the time line")
    parser.add_argument("--allocations", action="store_true", help="what is in memory at the peak, line by line")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the JSON there")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="keep the profiler's own trace there")
    return parser.parse_args()


@dataclass
class StepWatch:
    """Stands around each step of the run: first it waits, then it times, reads memory and profiles."""

    recipe: Recipe
    options: argparse.Namespace
    done: int = 0
    seconds: list[float] = field(default_factory=list)
    memory: PeakByPart | None = None
    allocations: dict[str, Any] | None = None
    profiler: Any = None

    def around(self, step: Callable[[Trainer], None], trainer: Trainer) -> None:
        """Take one step of the trainer, measured as its turn asks for."""
        options = self.options
        until_timed = options.warm_up + options.timed
        until_profiled = until_timed + MEMORY_STEPS
        if self.done == options.warm_up:
            synchronize()
        begin = time.perf_counter()
        if self.done == until_timed:
            with PeakByPart(decoder_of(trainer.head.model)).reading() as self.memory:
                step(trainer)
                synchronize()
        elif self.done == until_timed + 1 and options.allocations and torch.cuda.is_available():
            self.allocations = allocations_of(lambda: step(trainer), trainer)
        else:
            if self.done == until_profiled:
                self.start_profiler()
            with record_function(STEP):
                step(trainer)
        if options.warm_up <= self.done < until_timed:
            if self.done == until_timed - 1:
                synchronize()
            self.seconds.append(time.perf_counter() - begin)
        self.done += 1
        if self.done == until_profiled + options.profiled + EDGES:
            self.report(trainer)

    def start_profiler(self) -> None:
        synchronize()
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        self.profiler = profile(activities=activities)
        self.profiler.start()

    def report(self, trainer: Trainer) -> None:
        """Print what was found and end the process here: what the run would save is of no use."""
        synchronize()
        self.profiler.stop()
        found = self.figures(trainer)
        if self.options.out:
            self.options.out.parent.mkdir(parents=True, exist_ok=True)
            self.options.out.write_text(json.dumps(found, indent=1) + "\n")
        print_tables(found)
        sys.stdout.flush()
        os._exit(0)

    def figures(self, trainer: Trainer) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = self.options.trace or Path(folder) / "trace.json"
            self.profiler.export_chrome_trace(str(path))
            events = json.loads(path.read_text())["traceEvents"]
        mean = sum(self.seconds) / len(self.seconds)
        told = trainer.teller.last_told
        return {
            "recipe": self.recipe.name,
            "settings": self.recipe.settings,
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "torch": torch.__version__,
            "unprofiled_step_ms": 1000 * mean,
            "unprofiled_tok_s": told.tokens / mean if told else None,
            "timeline": timeline(read_trace(events)),
            "memory_gib": self.memory.figures() if self.memory else None,
            "allocations_gib": self.allocations,
        }


@contextmanager
def watching(watch: StepWatch) -> Iterator[None]:
    """Within, every trainer's steps go through the watch, and their parts carry marks."""
    plain_step, plain_run = Trainer.train_step, Trainer.run

    def train_step(trainer: Trainer) -> None:
        watch.around(plain_step, trainer)

    def run(trainer: Trainer) -> Any:
        with marking_decoder(decoder_of(trainer.head.model)):
            return plain_run(trainer)

    with ExitStack() as stack:
        stack.enter_context(patch.object(Trainer, "train_step", train_step))
        stack.enter_context(patch.object(Trainer, "run", run))
        for owner, name, mark in MARKED:
            if hasattr(owner, name):
                stack.enter_context(patch.object(owner, name, marked(getattr(owner, name), mark)))
        yield


def marked(function: Callable[..., Any], mark: str) -> Callable[..., Any]:
    def with_mark(*arguments: Any, **keywords: Any) -> Any:
        with record_function(mark):
            return function(*arguments, **keywords)

    return with_mark


@contextmanager
def marking_decoder(decoder: torch.nn.Module) -> Iterator[None]:
    """Within, each forward pass of the decoder carries its mark."""
    opened: list[ExitStack] = []

    def before(*_: Any) -> None:
        opened.append(ExitStack())
        opened[-1].enter_context(record_function(DECODER))

    def after(*_: Any) -> None:
        opened.pop().close()

    hooks = [
        decoder.register_forward_pre_hook(before, prepend=True),
        decoder.register_forward_hook(after, always_call=True),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def allocations_of(step: Callable[[], None], trainer: Trainer) -> dict[str, Any]:
    """Take a step and say what was in memory at its highest moment, by the code that asked for it."""
    model = trainer.head.model
    known = {
        "weights": sum(parameter.numel() * parameter.element_size() for parameter in model.parameters()),
        "optimizer": sum(one.numel() * one.element_size() for one in state_tensors(trainer.optimizer.state)),
    }
    peaks = PeakByPart(decoder_of(model))
    with Allocations(known).recording() as allocations, peaks.reading():
        step()
    return allocations.figures(peaks.ends)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def print_tables(found: dict[str, Any]) -> None:
    """What a person reads in a terminal; all of it is in the JSON too."""
    line = found["timeline"]
    print(f"\n{found['recipe']} on {found['device']}, torch {found['torch']}")
    print(
        f"step without profiler {found['unprofiled_step_ms']:.1f} ms ({found['unprofiled_tok_s']:,.0f} tok/s), with "
        f"{line['step_ms']:.1f} ms: busy {line['busy_ms']:.1f}, idle: "
        + ", ".join(f"{why} {length:.1f}" for why, length in line["idle_ms"].items())
    )
    print(
        f"{line['kernels']:.0f} kernels and copies, {line['launches']:.0f} launch calls of "
        f"{line['launch_calls_ms']:.1f} ms on the host; {line['of unknown launch']:.0f} of unknown launch"
    )
    print_categories("all", line["categories"])
    for phase, categories in line["phases"].items():
        print_categories(phase, categories)
    print("\n kernel ms   count   us each  category           kernel")
    for one in line["top"]:
        numbers = f"{one['ms']:10.2f} {one['count']:7.0f} {one['us_each']:9.1f}"
        print(f"{numbers}  {one['category']:<18} {one['kernel']}")
    print("\n  wait ms   count  call, within")
    for wait in line["waits"][:12]:
        print(f"{wait['ms']:9.2f} {wait['count']:7.1f}  {wait['call']}, {wait['within']}")
    print("\n   gap ms  late  phase: from -> to")
    for gap in line["gaps"]:
        print(f"{gap['ms']:9.3f}  {gap['launched late']!s:5} {gap['phase']}: {gap['after']} -> {gap['before']}")
    print("\npeak GiB (held at its beginning)")
    for part, sizes in (found["memory_gib"] or {}).items():
        print(f"{sizes['peak']:9.2f} ({sizes['at the beginning']:.2f})  {part}")
    if found["allocations_gib"]:
        print_allocations(found["allocations_gib"])


def print_allocations(sizes: dict[str, Any]) -> None:
    print("\nGiB at the highest moment of a step")
    held = {name: size for name, size in sizes.items() if name != "by place"}
    for name, size in {**held, **sizes["by place"]}.items():
        print(f"{size:9.3f}  {name}")


def print_categories(title: str, categories: dict[str, dict[str, float]]) -> None:
    total = sum(one["ms"] for one in categories.values())
    print(f"\n{title}: {total:.1f} ms")
    for name, one in categories.items():
        print(f"{one['ms']:10.2f} {100 * one['ms'] / max(total, 1e-9):5.1f} % {one['kernels']:7.0f}  {name}")


if __name__ == "__main__":
    main()
