"""Puts the attention of `interface` into a model, after proof that it gives what the library's gives."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.errors import is_out_of_memory
from engine.model.attention.check import gradient_error
from engine.model.attention.interface import KINDS, NAME, NAME_FOR_ONE_LENGTH, register
from engine.model.probe import difference, in_mode, last_hidden, random_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PROBE_SHAPE = (2, 70)
DIFFERENCE_LIMIT = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 1e-1, torch.float16: 2e-2}
"""Largest difference of the last hidden vectors from the library's, as a share of their length: sums run in another
order, and each layer builds on the rounding of the one before."""
ERROR_LIMIT = 2e-2
"""Largest error of the kernel for documents in bfloat16 or float16; a wrong gradient has one of about 1."""
_OLDEST_CAPABILITY = (8, 0)
_WIDEST_HEAD = 256


def use_attention_kernels(model: PreTrainedModel, *, one_length: bool) -> str | None:
    """Let the model's attention run in the quickest kernels of this GPU; returns what to tell of it.

    `one_length` says that all rows of training are as long as each other. None where attention stays as it is: on the
    CPU, for weights or heads that flash attention does not take, for models whose attention is of another kind or which
    another implementation was asked for, and where the proof fails.
    """
    if not (model.device.type == "cuda" and _may_be_replaced(model) and _kernels_take(model)):
        return None
    if not replace_attention(model, one_length=one_length):
        return None
    kernel = "cuDNN's kernel where it applies" if one_length else "flash attention"
    return f"attention runs in {kernel}, and in packs by documents, without a mask"


def replace_attention(model: PreTrainedModel, *, one_length: bool = False) -> bool:
    """Let the model's attention be that of `interface`; False, and all as before, where that gives something else."""
    config = model.config.get_text_config()
    before = config._attn_implementation
    wanted = _hidden(model)
    register()
    config._attn_implementation = NAME_FOR_ONE_LENGTH if one_length else NAME
    if _is_as_before(model, wanted):
        return True
    config._attn_implementation = before
    return False


def _is_as_before(model: PreTrainedModel, wanted: Tensor) -> bool:
    try:
        found = _hidden(model)
    except Exception as error:  # whatever a model's own code says of an attention that it does not know
        if is_out_of_memory(error):
            raise
        return False
    if not wanted.isfinite().all():  # broken weights are no fault of the kernels
        return True
    limit = DIFFERENCE_LIMIT.get(model.dtype, DIFFERENCE_LIMIT[torch.bfloat16])
    return difference(found, wanted) <= limit


@torch.no_grad()
def _hidden(model: PreTrainedModel) -> Tensor:
    """The last hidden vectors of a few tokens, float32 [B, S, H], in training, each time with the same dropout."""
    with in_mode(model, training=True), torch.random.fork_rng():
        torch.manual_seed(0)
        return last_hidden(model, random_ids(model, PROBE_SHAPE, seed=0))


def _may_be_replaced(model: PreTrainedModel) -> bool:
    """Whether the model's attention is the plain one: it looks back, within a window at most, in torch's operation."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    return (
        config._attn_implementation == "sdpa"
        and bool(getattr(model, "_supports_flash_attn", False))
        and set(kinds or ()) <= KINDS
        and getattr(config, "attention_chunk_size", None) is None
        and not getattr(config, "attention_dropout", 0.0)
    )


def _kernels_take(model: PreTrainedModel) -> bool:
    """Whether flash attention takes heads like these in this type on this GPU, found by trying."""
    config = model.config.get_text_config()
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if model.dtype not in (torch.bfloat16, torch.float16) or width % 8 or width > _WIDEST_HEAD:
        return False
    if torch.cuda.get_device_capability(model.device) < _OLDEST_CAPABILITY:
        return False
    heads = config.num_attention_heads
    return _documents_come_out_right(model.device, model.dtype, heads, config.num_key_value_heads or heads, width)


@cache
def _documents_come_out_right(device: torch.device, dtype: torch.dtype, heads: int, key_heads: int, width: int) -> bool:
    try:
        return gradient_error(device, dtype, heads, key_heads, width) <= ERROR_LIMIT
    except (RuntimeError, TypeError) as error:  # a torch without this kernel, or with another form of it
        if is_out_of_memory(error):
            raise
        return False
