"""The part of a language model that makes hidden vectors, without its head, and the layers in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from engine.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_OFF = {
    "train.gradient_checkpointing": "none",
    "model.compile": "false",
    "memory.offload_activations": "false",
    "memory.layer_slices": "1",
}
"""How to do without what needs the list of layers, by the config's key."""


def decoder_of(model: PreTrainedModel) -> Any:
    """The model below the head; its output has `last_hidden_state` [B, S, H]."""
    return model.get_decoder() if hasattr(model, "get_decoder") else model.base_model


def decoder_layers(model: PreTrainedModel, key: str = "train.gradient_checkpointing") -> dict[str, nn.Module]:
    """The decoder's layers by name, each once; there are as many as the model's config says.

    Raises UserError about the config's `key` for a model without a list of them.
    """
    decoder = decoder_of(model)
    wanted = model.config.get_text_config().num_hidden_layers
    for name, module in decoder.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == wanted:
            shared_once = dict.fromkeys(module)
            return {f"{name}.{index}": layer for index, layer in enumerate(shared_once)}
    raise UserError(
        f"{key}: {type(model).__name__} has no list of its {wanted} layers, each of which it would be applied to; "
        f"set {key}: {_OFF[key]}."
    )
