"""The part of a language model that makes hidden vectors, without its head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def decoder_of(model: PreTrainedModel) -> Any:
    """The model below the head; its output has `last_hidden_state` [B, S, H]."""
    return model.get_decoder() if hasattr(model, "get_decoder") else model.base_model
