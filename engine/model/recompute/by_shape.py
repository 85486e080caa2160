"""Which matmuls of a layer are kept, by the shapes of their weights: for a compiler, which sees no storage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from engine.model.recompute.choice import choose
from engine.model.recompute.forward import Contexts
from engine.model.recompute.matmuls import Cost, is_mixing, right_operand

Shape = tuple[int, ...]


def choose_by_shape(layer: nn.Module, costs: Mapping[str, Cost]) -> dict[str, Shape]:
    """The weights whose outputs are kept, with their shapes; `choose` decides on all weights of one shape together.

    A key of `costs` is the name of a weight, or those of several of one shape with commas between.
    """
    names: dict[Shape, list[str]] = defaultdict(list)
    together: dict[Shape, Cost] = defaultdict(Cost)
    for name, cost in costs.items():
        shape = tuple(layer.get_parameter(name.split(", ")[0]).shape)
        names[shape].append(name)
        together[shape] = together[shape] + cost
    shape_of = {", ".join(sorted(group)): shape for shape, group in names.items()}
    chosen = choose({name: together[shape] for name, shape in shape_of.items()})
    return {name: shape_of[name] for name in chosen}


def keeping_shapes(shapes: frozenset[Shape]) -> Contexts:
    """Contexts under which a layer keeps the outputs of its mixer's core and of matmuls with weights of these shapes.

    In a trace a weight is a stand-in that shares no storage with it; its shape is the same there, in the forward pass
    and in the repetition, in bfloat16 and as a float8 copy.
    """

    contexts = partial(_contexts, tuple(sorted(shapes)))  # no closure: the compiler's cache on the disk pickles it
    vars(contexts)["cache_hash"] = f"pgs: mixers and weights of {sorted(shapes)}"
    return contexts


def _contexts(shapes: tuple[Shape, ...]) -> Any:
    return create_selective_checkpoint_contexts(partial(_policy, shapes))  # type: ignore[no-untyped-call]


def _policy(shapes: tuple[Shape, ...], _context: Any, operator: Any, *args: Any, **_: Any) -> CheckpointPolicy:
    keep = is_mixing(operator) or _multiplies_with(operator, args, shapes)
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE


def _multiplies_with(operator: Any, args: tuple[Any, ...], shapes: tuple[Shape, ...]) -> bool:
    """Whether this is a matmul x W^T with a weight of such a shape; stacks of experts may lie as they are."""
    right = right_operand(operator, args)
    if not isinstance(right, Tensor) or not all(isinstance(size, int) for size in right.shape):
        return False
    *stack, inner, outer = right.shape
    return (*stack, outer, inner) in shapes or (bool(stack) and (*stack, inner, outer) in shapes)
