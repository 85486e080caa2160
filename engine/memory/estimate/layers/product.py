"""Products in float8 as torchao makes them (`engine.model.float8`), in tensors of the meta device.

torchao takes a second to import, and its tensors are none to a recording; so the same sizes are made here by hand.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from engine.model.float8.convert import pays

FORWARD_TYPE, BACKWARD_TYPE = torch.float8_e4m3fn, torch.float8_e5m2
_ROWS = 16
"""Tokens are filled up to a multiple of this."""


def use_float8(layer: nn.Module, *, keeps_rounded: bool) -> None:
    """Let the layer's large matrices multiply in float8, those that `pays` says.

    An eager product keeps its input for the gradient of its weight, in the input's own type. With `keeps_rounded` it is
    as in a compiled graph: an input that several products share is kept in float8, unless a plain product keeps it as
    it is; any other is made once more from what is kept anyway. (Seen in the graphs that torch 2.13 cuts Qwen3.5's
    layers into, and in what an H200 held less with float8 than without, 29,184 bytes a token and layer of Qwen3.5-4B:
    the rows all_4x4096_free and all_4x4096_free_fp8 of docs/performance/h200.json.)
    """
    rounded = _Rounded() if keeps_rounded else None
    if rounded is not None:
        layer.register_forward_pre_hook(rounded.begin)
    linears = [module for module in layer.modules() if type(module) is nn.Linear]
    for linear in linears:
        if pays(linear):
            vars(linear)["forward"] = _Float8Forward(linear, rounded)
        elif rounded is not None and linear.weight.requires_grad:
            linear.register_forward_pre_hook(rounded.plain_product)


@dataclass(slots=True)
class _Copy:
    """An input in float8, and how many products it is an input of."""

    numbers: Tensor | None = None
    products: int = 0
    is_kept_plain: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether a graph keeps this copy for its backward pass."""
        return self.products > 1 and not self.is_kept_plain


@dataclass(slots=True)
class _Rounded:
    """The inputs of a layer's products, each once."""

    _of: dict[int, tuple[weakref.ref[Tensor], _Copy]] = field(default_factory=dict)

    def begin(self, _module: nn.Module, _inputs: tuple[Tensor, ...]) -> None:
        """To be called before the layer."""
        self._of.clear()

    def copy_of(self, rows: Tensor, source: Tensor) -> _Copy:
        """The one copy of `rows` [T, in], which are those of `source`."""
        copy = self._known(source)
        if copy.numbers is None:
            copy.numbers = _cast(rows, FORWARD_TYPE)
        copy.products += 1
        return copy

    def plain_product(self, _module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """To be called before a product that keeps its input as it is."""
        self._known(inputs[0]).is_kept_plain = True

    def _known(self, source: Tensor) -> _Copy:
        found = self._of.get(id(source))
        if found is None or found[0]() is not source:
            found = self._of[id(source)] = (weakref.ref(source), _Copy())
        return found[1]


class _Float8Forward:
    def __init__(self, linear: nn.Linear, rounded: _Rounded | None) -> None:
        self._linear, self._rounded = linear, rounded

    def __call__(self, hidden: Tensor) -> Tensor:
        rows = hidden.reshape(-1, hidden.shape[-1])
        lacking = -len(rows) % _ROWS if self._linear.weight.requires_grad else 0
        if lacking:
            rows = F.pad(rows, (0, 0, 0, lacking))
        if self._rounded is None:
            copy = _Copy(_cast(rows.detach(), FORWARD_TYPE))
        else:
            copy = self._rounded.copy_of(rows.detach(), hidden)
        arguments = (rows, self._linear.weight, copy, self._rounded is not None)
        product: Tensor = _Product.apply(*arguments)  # type: ignore[no-untyped-call]
        if self._linear.bias is not None:
            product = product + self._linear.bias
        return product[: len(rows) - lacking].view(*hidden.shape[:-1], product.shape[-1])


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, copy: _Copy, keeps_rounded: bool) -> Tensor:
        """rows [T, in], weight [out, in] -> [T, out]."""
        assert copy.numbers is not None
        ctx.copy = copy if keeps_rounded else None
        inputs = (rows, copy.numbers) if keeps_rounded else (rows,)
        ctx.save_for_backward(weight, *(inputs if weight.requires_grad else ()))
        return _multiply(copy.numbers, _cast(weight.t(), FORWARD_TYPE), rows.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """gradients [T, out] -> those of rows and, where it is trained, of the weight."""
        [above], (weight, *inputs) = gradients, ctx.saved_tensors
        of_rows = _multiply(_cast(above, BACKWARD_TYPE), _columns(_cast(weight, FORWARD_TYPE)), weight.dtype)
        if not inputs:
            return of_rows, None, None, None
        is_kept = ctx.copy is not None and ctx.copy.is_kept
        rounded = inputs[1] if is_kept else _cast(inputs[0], FORWARD_TYPE)
        above_t = _cast(above.t().contiguous(), BACKWARD_TYPE)
        return of_rows, _multiply(above_t, _columns(rounded), weight.dtype), None, None


def _cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """A copy in float8, step by step as torchao makes it: no part of it before the largest element is known."""
    scale = tensor.abs().max().to(torch.float32).reciprocal()
    return (tensor.to(torch.float32) * scale).clamp(-1, 1).to(dtype)


def _columns(matrix: Tensor) -> Tensor:
    """The matrix with its columns side by side in memory, as products in float8 take their right side."""
    return matrix.t().contiguous().t()


def _multiply(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """left [T, in] @ right [in, out]."""
    scale = left.new_empty((), dtype=torch.float32)
    product: Tensor = torch.ops.aten._scaled_mm(left, right, scale, scale, out_dtype=dtype)
    return product
