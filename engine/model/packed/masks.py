"""Attention masks under which tokens see their own document alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from engine.model.attention.interface import NAMES

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_KNOWN_KINDS = {"full_attention", "linear_attention"}


def takes_document_mask(model: PreTrainedModel) -> bool:
    """Whether attention runs in torch's operation and looks back without a bound, so that `document_masks` fit it."""
    config = model.config.get_text_config()
    if getattr(config, "_attn_implementation", None) not in ("sdpa", *NAMES):
        return False
    kinds = getattr(config, "layer_types", None)
    if kinds is not None:
        return set(kinds) <= _KNOWN_KINDS
    return getattr(config, "sliding_window", None) is None and getattr(config, "attention_chunk_size", None) is None


def document_masks(model: PreTrainedModel, position_ids: Tensor) -> Any:
    """What the model takes as its mask: for each token True where it may look. position_ids: [B, S], restarting.

    The library makes the same mask, but waits for the device to see whether it is needed, and makes none where no line
    has two documents; so a compiled layer would have two graphs.
    """
    document = (position_ids == 0).cumsum(1)  # [B, S]
    same = document[:, None, :, None] == document[:, None, None, :]  # [B, 1, S, S]
    mask = same.tril_()
    kinds = getattr(model.config.get_text_config(), "layer_types", None)
    return mask if kinds is None else {kind: mask if kind == "full_attention" else None for kind in set(kinds)}


def library_masks(model: PreTrainedModel, position_ids: Tensor) -> Any:
    """The mask of each kind of layer, for models that do not look at position ids themselves. position_ids: [B, S]."""
    from transformers.masking_utils import create_masks_for_generate

    shape_only = model.get_input_embeddings().weight.new_empty(1).expand(*position_ids.shape, 1)  # [B, S, 1]
    return create_masks_for_generate(model.config, shape_only, None, None, position_ids)
