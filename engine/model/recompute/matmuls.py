"""Recognises the operations of a layer whose outputs are worth keeping: matmuls with a weight, and mixers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

_LEFT_OPERAND = {
    "aten::mm": 0,
    "aten::bmm": 0,
    "aten::addmm": 1,
    "aten::baddbmm": 1,
    "aten::_grouped_mm": 0,
    "aten::_scaled_mm": 0,
}
"""The matmuls that autograd leaves of a linear layer, with the place of what is multiplied with the weight."""
_ATTENTION = (
    "aten::_scaled_dot_product_",
    "aten::_flash_attention_forward",
    "aten::_efficient_attention_forward",
    "aten::_cudnn_attention_forward",
    "pgs::document_attention",
    "flex_attention",
)
_DELTA_RULE = "pgs::gated_delta_rule"


Key = int | tuple[int, ...]
"""How a weight is known again: by its storage or, where a matmul sees a float8 copy, by its shape [out, in]."""


def weights_by_key(layer: nn.Module) -> dict[Key, str]:
    """The name of each weight of two or more dimensions by the storage that it and its views share, and by its shape.

    Weights of one shape have their names together there: copies of them cannot be told apart.
    """
    weights = [(name, weight) for name, weight in layer.named_parameters() if weight.dim() > 1]
    by_shape: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, weight in weights:
        by_shape[tuple(weight.shape)].append(name)
    return {_storage(weight): name for name, weight in weights} | {
        shape: ", ".join(names) for shape, names in by_shape.items()
    }


def right_operand(operator: Any, args: tuple[Any, ...]) -> Tensor | None:
    """What a matmul multiplies with, the weight's place; None for any other operation."""
    left = _LEFT_OPERAND.get(_name(operator))
    return None if left is None else args[left + 1]


def weight_of(operator: Any, args: tuple[Any, ...], weights: Mapping[Key, str]) -> str | None:
    """The name of the weight that a matmul multiplies with; None for any other operation."""
    right = right_operand(operator, args)
    if right is None:
        return None
    if _is_float8(right):  # a copy of the weight, transposed
        return weights.get(tuple(right.shape[::-1]))
    tensors = (arg for arg in args if isinstance(arg, Tensor))
    return next((weights[key] for tensor in tensors if (key := _storage(tensor)) in weights), None)


def is_mixing(operator: Any) -> bool:
    """Whether an operation is the core of attention or of the gated delta rule, whichever kernel runs it."""
    name = _name(operator)
    if name.endswith("_backward"):
        return False
    if name == _DELTA_RULE or name.startswith(_ATTENTION):
        return True
    namespace, _, function = name.partition("::")
    return "flash_attn" in namespace and ("fwd" in function or "forward" in function)


@dataclass(slots=True)
class Cost:
    """What it takes to compute the matmuls of one weight, and to keep what they give."""

    flops: int = 0
    bytes: int = 0
    calls: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes, self.calls + other.calls)


class MatmulRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up, while it is entered, the cost of the matmuls with each of a layer's weights, and counts mixers."""

    def __init__(self, weights: Mapping[Key, str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.costs: dict[str, Cost] = {}
        self.mixers: list[str] = []
        self._weights = weights

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = weight_of(func, args, self._weights)
        if name is not None:
            inner = args[_LEFT_OPERAND[_name(func)]].shape[-1]
            cost = self.costs.setdefault(name, Cost())
            cost.flops += 2 * out.numel() * inner
            cost.bytes += out.numel() * out.element_size()
            cost.calls += 1
        elif is_mixing(func):
            self.mixers.append(_name(func))
        return out


def _name(operator: Any) -> str:
    schema = getattr(operator, "_schema", None)
    return str(schema.name if schema is not None else operator.name())


def _is_float8(tensor: Tensor) -> bool:
    """Also of torchao's wrapper, which says that it is of the type it stands for."""
    dtype: torch.dtype = getattr(tensor, "_data", tensor).dtype
    return dtype.is_floating_point and dtype.itemsize == 1


def _storage(tensor: Tensor) -> int:
    """Which storage a tensor views; unlike an address in memory it is known of fake tensors too."""
    return int(tensor.untyped_storage()._cdata)
