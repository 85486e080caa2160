"""torchao's float8 linear layer, for trained and for frozen weights. The one module that imports torchao."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.fx.experimental.symbolic_shapes import statically_known_true

from engine.model.quiet import quiet_import

with quiet_import():
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    from torchao.float8.float8_linear import Float8Linear, matmul_with_hp_or_float8_args
    from torchao.float8.float8_scaling_utils import hp_tensor_to_float8_dynamic
    from torchao.float8.float8_training_tensor import GemmInputRole

_ROWS = 16
"""The product that makes a weight's gradient sums over the tokens, and cuBLAS sums over multiples of this in float8."""


def convert(decoder: nn.Module, chosen: Mapping[str, nn.Linear], *, emulate: bool) -> None:
    """Replace the chosen linear layers of a decoder, by name, with float8 ones of the same parameters."""
    convert_to_float8_training(
        decoder,
        module_filter_fn=lambda _module, name: name in chosen,
        config=Float8LinearConfig(emulate=emulate),
    )
    for name in chosen:
        converted = decoder.get_submodule(name)
        assert type(converted) is Float8Linear and converted.weight is chosen[name].weight
        converted.train(chosen[name].training)
        converted.__class__ = TrainingLinear


class TrainingLinear(Float8Linear):  # type: ignore[misc]
    """torchao's layer, which beyond it makes no gradient of a frozen weight, takes any number of tokens, and evaluates
    in the type of the weights, as the saved model will."""

    def forward(self, input: Tensor) -> Tensor:  # the name in nn.Linear
        """input [..., in] -> [..., out]."""
        if not self.training:
            return F.linear(input, self.weight, self.bias)
        rows = input.reshape(-1, input.shape[-1])  # [T, in]
        multiply: Any = self._multiply_trained if self.weight.requires_grad else self._multiply_frozen
        product = multiply(rows)
        if self.bias is not None:
            product = product + self.bias
        return product.view(*input.shape[:-1], product.shape[-1])  # type: ignore[no-any-return]

    def _multiply_trained(self, rows: Tensor) -> Any:
        """[T, in] -> [T, out], with zeros as further rows where T is no multiple of 16.

        A graph for any T adds them always, as many as it takes, instead of being two.
        """
        tokens = rows.shape[0]
        lacking = -tokens % _ROWS
        if statically_known_true(lacking == 0):
            return self._multiply(matmul_with_hp_or_float8_args, rows)
        return self._multiply(matmul_with_hp_or_float8_args, F.pad(rows, (0, 0, 0, lacking)))[:tokens]

    def _multiply_frozen(self, rows: Tensor) -> Any:
        """[T, in] -> [T, out], for any T."""
        return self._multiply(_FrozenProduct, rows)

    def _multiply(self, product: Any, rows: Tensor) -> Any:
        return product.apply(rows, self.weight.t(), self.linear_mm_config, self.config)


@torch._dynamo.allow_in_graph
class _FrozenProduct(torch.autograd.Function):
    """The product with a frozen weight. Of its input, which only the weight's gradient would need, nothing is kept."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight_t: Tensor, products: Any, config: Any) -> Tensor:
        """rows [T, in], weight_t [in, out] -> [T, out]."""
        ctx.save_for_backward(weight_t)
        ctx.products, ctx.config = products, config
        cast_rows = _cast(rows, config.cast_config_input, products, GemmInputRole.INPUT)
        cast_weight = _cast(weight_t, config.cast_config_weight, products, GemmInputRole.WEIGHT)
        return torch.mm(cast_rows, cast_weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """gradient [T, out] -> that of the rows [T, in]."""
        (weight_t,) = ctx.saved_tensors
        config, products = ctx.config, ctx.products
        cast_gradient = _cast(gradient, config.cast_config_grad_output, products, GemmInputRole.GRAD_OUTPUT)
        cast_weight = _cast(weight_t, config.cast_config_weight_for_grad_input, products, GemmInputRole.WEIGHT)
        return torch.mm(cast_gradient, cast_weight.t()), None, None, None


def _cast(tensor: Tensor, how: Any, products: Any, role: GemmInputRole) -> Tensor:
    """The tensor in float8, with its scale, as torchao's products take it."""
    cast: Tensor = hp_tensor_to_float8_dynamic(tensor, how.target_dtype, products, gemm_input_role=role)
    return cast
