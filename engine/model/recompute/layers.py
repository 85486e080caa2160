"""The layers of a model, each of which is computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, noop_context_fn

from engine.errors import UserError
from engine.model.decoder import decoder_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]
"""Makes what surrounds a layer's forward pass and its second computation."""


class RecomputedForward:
    """A layer's forward pass that keeps its inputs alone, and whatever `contexts` keeps besides."""

    def __init__(self, layer: nn.Module, contexts: Contexts = noop_context_fn) -> None:
        self._layer = layer
        self._forward = layer.forward
        self.contexts = contexts

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (self._layer.training and torch.is_grad_enabled()):
            return self._forward(*args, **kwargs)
        return checkpoint(self._forward, *args, use_reentrant=False, context_fn=self.contexts, **kwargs)


def decoder_layers(model: PreTrainedModel) -> dict[str, nn.Module]:
    """The decoder's layers by name, each once; there are as many as the model's config says, else UserError."""
    decoder = decoder_of(model)
    wanted = model.config.get_text_config().num_hidden_layers
    for name, module in decoder.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == wanted:
            shared_once = dict.fromkeys(module)
            return {f"{name}.{index}": layer for index, layer in enumerate(shared_once)}
    raise UserError(
        f"train.gradient_checkpointing: {type(model).__name__} has no list of its {wanted} layers that could be "
        "computed again; set train.gradient_checkpointing: none."
    )
