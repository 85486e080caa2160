"""Which operations of a graph a compiler fuses, so that what lies between them never exists in memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

_REDUCTIONS = frozenset({"sum", "mean", "amax", "amin", "max", "var", "var_mean", "std", "norm", "linalg_vector_norm"})
_FUSIBLE = frozenset(
    {
        "_softmax",
        "_softmax_backward_data",
        "_to_copy",
        "cat",
        "clone",
        "constant_pad_nd",
        "copy",
        "copy_",
        "fill",
        "fill_",
        "full",
        "full_like",
        "native_layer_norm",
        "native_layer_norm_backward",
        "new_full",
        "new_ones",
        "new_zeros",
        "ones_like",
        "repeat",
        "scalar_tensor",
        "select_backward",
        "select_scatter",
        "silu_backward",
        "slice_backward",
        "slice_scatter",
        "stack",
        "zero_",
        "zeros",
        "zeros_like",
    }
)
"""What is no pointwise operation by torch's own tag, and becomes one, or a reduction between two, in the compiler."""


@cache
def is_fusible(operator: Any) -> bool:
    """Whether the compiler makes this part of a kernel of its own: pointwise operations, reductions and copies.

    Products, attention, sorting, scatters and operators from elsewhere have kernels: they read and write memory.
    """
    name = _own_name(str(operator._schema.name))
    return torch.Tag.pointwise in operator.tags or name in _FUSIBLE or name in _REDUCTIONS


@cache
def is_reduction(name: str) -> bool:
    """Whether an operation by this name sums up along a dimension: its result is written, and read by others."""
    return _own_name(name) in _REDUCTIONS


def _own_name(name: str) -> str:
    namespace, _, own = name.partition("::")
    return own if namespace == "aten" else name
