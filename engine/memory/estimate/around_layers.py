"""What is on the GPU beside the layers: the norm above them, tokens and positions, and work space of the libraries."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from engine.memory.estimate.optimizer_bytes import MODELS_KEPT
from engine.model.decoder import decoder_of
from engine.units import MIB

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BLAS_WORKSPACES = 2
"""One for each thread that multiplies: torch's backward passes run in a thread of their own."""
BLAS_WORKSPACE = 32 * MIB
"""What torch gives cuBLAS on GPUs of compute capability 9 and 10, as seen on an H200; older ones get 8 MiB."""
_TOKEN_BYTES = 3 * 8
"""Of each token its number, its target and its place among those with loss, int64."""


def kept_by_norm(model: PreTrainedModel, tokens: int) -> int:
    """Bytes that stay of the norm above the layers: what it keeps, and its output."""
    once, twice = _kept_by_norm(model, 1), _kept_by_norm(model, 2)
    return once + (tokens - 1) * (twice - once)


def other_bytes(model: PreTrainedModel, tokens: int) -> int:
    """Tokens, the angles of rotary positions, the model's buffers, and the work space of matrix products."""
    buffers, frequencies = _buffers(model)
    angles: int = 2 * 2 * frequencies * model.dtype.itemsize  # cosine and sine, of each frequency twice
    return BLAS_WORKSPACES * BLAS_WORKSPACE + tokens * (_TOKEN_BYTES + angles) + buffers


@lru_cache(maxsize=MODELS_KEPT)
def _buffers(model: PreTrainedModel) -> tuple[int, int]:
    """Bytes of the model's buffers, and how many rotary frequencies are among them."""
    named = dict(model.named_buffers())
    frequencies = max((buffer.numel() for name, buffer in named.items() if name.endswith("inv_freq")), default=0)
    return sum(int(buffer.nbytes) for buffer in named.values()), int(frequencies)


@lru_cache(maxsize=2 * MODELS_KEPT)
def _kept_by_norm(model: PreTrainedModel, tokens: int) -> int:
    norm = _norm_above(decoder_of(model))
    width = model.config.get_text_config().hidden_size
    hidden = torch.empty(1, tokens, width, dtype=model.dtype, device="meta", requires_grad=True)
    if norm is None:
        return int(hidden.nbytes)
    weights = {_storage(parameter) for parameter in norm.parameters()}
    kept: dict[int, int] = {}
    alive: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        if _storage(tensor) not in weights:
            kept[_storage(tensor)] = tensor.untyped_storage().nbytes()
        alive.append(tensor)  # else another one may get its place
        return tensor

    with torch.enable_grad(), saved_tensors_hooks(keep, lambda tensor: tensor):
        output = norm(hidden)
    keep(output)
    return sum(kept.values())


def _norm_above(decoder: Any) -> nn.Module | None:
    """The last norm that stands directly in the decoder."""
    norms = [module for module in decoder.children() if "norm" in type(module).__name__.lower()]
    return norms[-1] if norms else None


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
