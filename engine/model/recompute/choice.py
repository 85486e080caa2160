"""Which matmuls of a layer are worth their memory."""

from __future__ import annotations

from collections.abc import Mapping

from engine.model.recompute.matmuls import Cost


def choose(costs: Mapping[str, Cost]) -> tuple[str, ...]:
    """The weights whose outputs are kept: half of what a full recomputation spends on matmuls, for the fewest bytes.

    `costs` are those of the matmuls that recomputing the layer really runs. A matmul whose output nothing needs in the
    backward pass, as a down projection that goes straight into the residual sum, is not among them: the recomputation
    stops before it, so that keeping its output would pay for nothing. An output of a matmul over K inputs saves 2 K
    FLOPs for each number kept; so weights with the longest inputs come first (in Qwen3.5-4B the output projections of
    attention and of DeltaNet, 4,096 against 2,560), among equals the largest, as long as they fit into the half.
    """
    half = sum(cost.flops for cost in costs.values()) / 2
    chosen: list[str] = []
    saved = 0
    for name in sorted(costs, key=lambda name: (-costs[name].flops / costs[name].bytes, -costs[name].flops, name)):
        if saved + costs[name].flops <= half:
            chosen.append(name)
            saved += costs[name].flops
    return tuple(sorted(chosen))
