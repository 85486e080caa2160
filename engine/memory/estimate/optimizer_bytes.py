"""What the optimizer keeps of each tensor, and what it holds while it moves one (`engine.optim`)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.config.schema import Train
from engine.optim.hyperball import hyperball_matrices
from engine.optim.movement import SAMPLES_IN_A_TENSOR
from engine.optim.rules.adamw import AdamW
from engine.optim.rules.blockwise import empty_state
from engine.optim.tensor_optimizer import SLICE

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MODELS_KEPT = 32
"""Models and optimizers whose states are remembered: a model of 4 billion weights has hundreds of tensors."""
_WIDE = 4
"""Bytes of a float32 number."""
_WATCHED = 3
"""Float32 numbers that the kernel of Lion notes of each watched weight."""
_ROUNDING = _WIDE + 1 + 4 + 2
"""Bytes a weight while a slice is rounded at random: itself, whether it is a number, its random bits, the result."""


def state_bytes(model: PreTrainedModel, train: Train) -> tuple[int, ...]:
    """Bytes of each tensor that the optimizer keeps for the trained weights of `model`, by the optimizer's own rule."""
    return _state_bytes(model, train.optimizer, train.hyperball)


@lru_cache(maxsize=MODELS_KEPT)
def _state_bytes(model: PreTrainedModel, optimizer: str, hyperball: bool) -> tuple[int, ...]:
    sizes = [t.nbytes for p in trained_parameters(model) for t in _state_of(p, optimizer).values()]
    if hyperball:  # a radius and a rate for each matrix
        matrices = (model.get_parameter(name) for name in hyperball_matrices(model))
        sizes += [_WIDE * max(1, matrix.shape[:-2].numel()) for matrix in matrices for _ in range(2)]
    return tuple(sizes)


def notes_bytes(model: PreTrainedModel, train: Train) -> int:
    """What Lion's kernel notes of the movement, beside the state."""
    return len(trained_parameters(model)) * _WATCHED * SAMPLES_IN_A_TENSOR * _WIDE if _is_lion(train) else 0


def update_bytes(model: PreTrainedModel, train: Train, *, releases: bool) -> int:
    """The most that is held besides while one tensor moves: nothing by Lion's kernel, else float32 slices of it."""
    if _is_lion(train) and not train.hyperball:
        return 0
    forms = {(tuple(p.shape), p.dtype) for p in trained_parameters(model)}
    return max((_update_of(shape, dtype, train, releases) for shape, dtype in forms), default=0)


@lru_cache(maxsize=MODELS_KEPT)
def trained_parameters(model: PreTrainedModel) -> tuple[Tensor, ...]:
    """The weights that take gradients, each once."""
    return tuple(parameter for parameter in model.parameters() if parameter.requires_grad)


def _is_lion(train: Train) -> bool:
    return train.optimizer.startswith("lion")


def _state_of(parameter: Tensor, optimizer: str) -> dict[str, Tensor]:
    if optimizer == "adamw":
        return AdamW().new_state(parameter)
    return empty_state(parameter, moments=2 if optimizer == "adamw8bit" else 1, in_8bit=optimizer.endswith("8bit"))


def _update_of(shape: tuple[int, ...], dtype: torch.dtype, train: Train, releases: bool) -> int:
    """`engine.optim.sliced`: a slice of weights and gradient in float32 and, with release, the state as it was (which
    stays where the gradient is not finite); then the slice while it is rounded. Hyperball first has the new weights of
    a matrix as a whole, in float32."""
    is_turned = train.hyperball and len(shape) >= 2
    if _is_lion(train) and not (is_turned and len(shape) > 2):
        return 0
    size = min(math.prod(shape), SLICE)
    of_slice = torch.empty(size, dtype=dtype, device="meta")
    of_state = [t.nbytes for t in _state_of(of_slice, train.optimizer).values()]
    is_wide = dtype == torch.float32
    weights = _WIDE * size if releases or not is_wide else 0
    gradient = _WIDE * size if not is_wide else 0
    moving = weights + gradient
    if releases:  # the state as it was, beside the gradient or what is chosen of one of its tensors
        moving = weights + sum(of_state) + max(gradient, *of_state)
    is_random = train.stochastic_rounding and dtype == torch.bfloat16
    writing = (_ROUNDING if is_random else _WIDE) * size
    turned = _WIDE * math.prod(shape[-2:]) if is_turned else 0
    return max(moving, writing) + turned
