"""Which matmuls of a layer are kept, by the names of their weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from engine.model.recompute.layers import Contexts
from engine.model.recompute.matmuls import Cost, Key, is_mixing, weight_of, weights_by_key


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


def keeping(layer: nn.Module, chosen: Collection[str]) -> Contexts:
    """Contexts under which a layer keeps the outputs of its mixer's core and of the matmuls with the `chosen` weights.

    The decision looks at the operation and the storage of its weight alone. Nothing is counted, so the forward pass and
    its repetition cannot disagree.
    """

    def contexts() -> Any:
        weights = {key: name for key, name in weights_by_key(layer).items() if name in chosen}
        return create_selective_checkpoint_contexts(partial(_policy, weights))  # type: ignore[no-untyped-call]

    return contexts


def _policy(weights: Mapping[Key, str], _context: Any, operator: Any, *args: Any, **_: Any) -> CheckpointPolicy:
    keep = is_mixing(operator) or weight_of(operator, args, weights) is not None
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE
