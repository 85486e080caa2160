"""Which matmuls of a layer are kept, by the names of their weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from engine.model.recompute.forward import Contexts
from engine.model.recompute.matmuls import Key, is_mixing, weight_of, weights_by_key


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
