"""What the compiler does while a run trains: how many graphs, how long, and why again."""

from __future__ import annotations

from dataclasses import dataclass

from torch._dynamo.utils import calculate_time_spent, counters, get_compilation_metrics


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


def last_reason() -> str:
    """Why the compiler last made another graph of code that it had compiled already, in its own words on one line."""
    reasons = [metrics.recompile_reason for metrics in get_compilation_metrics() if metrics.recompile_reason]
    return " ".join(str(reasons[-1]).split()) if reasons else "the compiler gives no reason"
