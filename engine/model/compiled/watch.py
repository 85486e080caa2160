"""What the compiler does while a run trains: how many graphs, how long, and why again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch._dynamo.exc import TorchDynamoException
from torch._dynamo.utils import calculate_time_spent, counters, get_compilation_metrics

from engine.errors import UserError, is_out_of_memory
from engine.quiet import without_lines

_SAID = {"torch._higher_order_ops.wrap": "Detected that context_fn is passed to torch.utils.checkpoint"}
"""A line about selective recomputation within a graph, which warns of operations in place: layers have none."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the compiler has done in this process so far."""

    graphs: int
    seconds: float
    """Of the forward and the backward graphs."""

    @classmethod
    def so_far(cls) -> Compiled:
        """Read the compiler's own counters; waits for nothing."""
        return cls(int(counters["stats"]["unique_graphs"]), calculate_time_spent()["total_wall_time"])

    def since(self, before: Compiled) -> Compiled:
        """What was done between two readings."""
        return Compiled(self.graphs - before.graphs, self.seconds - before.seconds)


@dataclass(slots=True)
class CompilerWatch:
    """Tells what the compiler does, through `say`."""

    say: Callable[[str], None]
    _before: Compiled = field(default_factory=Compiled.so_far)
    _has_noted: bool = False

    @contextmanager
    def warming_up(self) -> Iterator[None]:
        """Within, the layers run for the first time. Raises UserError when they cannot be compiled."""
        before = Compiled.so_far()
        try:
            with without_lines(_SAID):
                yield
        except TorchDynamoException as error:
            if is_out_of_memory(error.__cause__ or error):
                raise
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise UserError(
                f"model.compile: the layers cannot be compiled, each as one graph ({reason}); set model.compile: false."
            ) from error
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # where the compiler tried its kernels, and first calls theirs
        done = Compiled.so_far().since(before)
        graphs = "1 graph" if done.graphs == 1 else f"{done.graphs} graphs"
        self.say(f"compiled {graphs} in {done.seconds:.1f} s")

    def step_begins(self) -> None:
        """A step begins: what is compiled from here on is its own."""
        self._before = Compiled.so_far()

    def step_ends(self, step: int) -> int:
        """How many graphs this step compiled; says why, the first time that it is not none."""
        graphs = Compiled.so_far().since(self._before).graphs
        if graphs and not self._has_noted:
            self._has_noted = True
            self.say(f"note: step {step} compiled again ({last_reason()})")
        return graphs


def last_reason() -> str:
    """Why the compiler last made another graph of code that it had compiled already, in its own words on one line."""
    reasons = [metrics.recompile_reason for metrics in get_compilation_metrics() if metrics.recompile_reason]
    return " ".join(str(reasons[-1]).split()) if reasons else "the compiler gives no reason"
