"""Which matrices of a model multiply in float8, and how they are told to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from engine.errors import UserError
from engine.model.decoder import decoder_of
from engine.model.float8.available import require_float8, torchao_version

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_MULTIPLE = 16
"""Both sides of a matrix must be multiples of this: cuBLAS multiplies no others in float8."""
_SMALL_IN, _SMALL_OUT = 4096, 1024
"""A matrix with at most so many inputs and outputs is slower in float8: the casts cost more than the product saves
(torchao's measurements on an H100 of float8 with one scale for each tensor)."""


@dataclass(frozen=True, slots=True)
class Float8Use:
    """What multiplies in float8 now."""

    converted: tuple[str, ...]
    """Names of the modules, as in `model.named_modules()`."""
    share: float
    """Their part of the decoder's matrices, by weights; the embedding does not count."""
    version: str | None

    def sentence(self) -> str:
        """For the console."""
        return (
            f"{len(self.converted)} matrices multiply in float8 while training ({self.share:.0%} of the weights of the"
            f" layers' matrices; torchao {self.version}, one scale for each tensor); embedding, head and small"
            " matrices stay as they are, and evaluation computes as the saved model will"
        )


def pays(linear: nn.Linear) -> bool:
    """Whether a matrix [out, in] is large enough to be faster in float8, and of a shape that can be."""
    outputs, inputs = linear.weight.shape
    if outputs % _MULTIPLE or inputs % _MULTIPLE:
        return False
    return outputs > _SMALL_OUT or inputs > _SMALL_IN


def use_float8(
    model: PreTrainedModel,
    *,
    emulate: bool = False,
    worth_it: Callable[[nn.Linear], bool] = pays,
) -> Float8Use:
    """Let the large matrices of the decoder multiply in float8 during training; their weights stay what they are.

    A parameter keeps identity, name and type, so freezing, optimizer, hooks and checkpoints see no difference. Inputs,
    weights and gradients are scaled by their largest element, tensor by tensor, each time (torchao's `tensorwise`
    recipe: E4M3 for inputs and weights, E5M2 for gradients). Frozen matrices multiply so too, and make no gradient of
    their weight. `emulate` rounds to float8 and multiplies in float32, on any device: for tests.
    Raises UserError where device, torchao or the type of the weights do not allow it, or no matrix is worth it.
    """
    if not emulate:
        require_float8(model.device)
        _refuse_another_type(model)
    decoder = decoder_of(model)
    apart = {id(model.get_input_embeddings()), id(model.get_output_embeddings())}
    linears = {
        name: module
        for name, module in decoder.named_modules()
        if type(module) is nn.Linear and id(module) not in apart
    }
    chosen = {name: linear for name, linear in linears.items() if worth_it(linear)}
    if not chosen:
        raise UserError(
            f"memory.float8_training: no matrix of {type(model).__name__} is large enough to be faster in float8 (more "
            f"than {_SMALL_OUT} outputs or {_SMALL_IN} inputs, both multiples of {_MULTIPLE}); "
            "set memory.float8_training: false."
        )
    from engine.model.float8.linear import convert  # torchao takes a second to import

    convert(decoder, chosen, emulate=emulate)
    weights = sum(linear.weight.numel() for linear in chosen.values())
    share = weights / sum(linear.weight.numel() for linear in linears.values())
    prefix = next(f"{name}." if name else "" for name, module in model.named_modules() if module is decoder)
    return Float8Use(tuple(f"{prefix}{name}" for name in chosen), share, torchao_version())


def _refuse_another_type(model: PreTrainedModel) -> None:
    if model.dtype != torch.bfloat16:
        found = str(model.dtype).removeprefix("torch.")
        raise UserError(
            f"memory.float8_training: the weights are {found}, and float8 stands in for bfloat16; "
            "set model.torch_dtype: bfloat16, or memory.float8_training: false."
        )
