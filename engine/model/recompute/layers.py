"""The layers of a model, each of which is computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, noop_context_fn

from engine.errors import UserError
from engine.model.decoder import decoder_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_OFF = {
    "train.gradient_checkpointing": "none",
    "model.compile": "false",
    "memory.offload_activations": "false",
    "memory.layer_slices": "1",
}
"""How to do without what needs the list of layers, by the config's key."""

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]
"""Makes what surrounds a layer's forward pass and its second computation."""


class RecomputedForward:
    """A layer's forward pass that keeps its inputs alone, and whatever `contexts` keeps besides.

    `keeps` tells apart what contexts keep: layers that are built alike and have the same here have the same graphs.
    """

    def __init__(self, layer: nn.Module, contexts: Contexts = noop_context_fn) -> None:
        self._layer = layer
        self._forward = layer.forward
        self.contexts = contexts
        self.keeps: Hashable = None
        self.preserves_random_state = has_dropout(layer)
        """Reading and setting the generators' state takes the host longer than many a layer."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (self._layer.training and torch.is_grad_enabled()):
            return self._forward(*args, **kwargs)
        return checkpoint(
            self._forward,
            *args,
            use_reentrant=False,
            context_fn=self.contexts,
            preserve_rng_state=self.preserves_random_state,
            **kwargs,
        )


def has_dropout(layer: nn.Module) -> bool:
    """Whether anything in a layer says that it draws random numbers: a rate of dropout or jitter above zero."""
    return any(
        isinstance(rate, float) and rate > 0 and (name in ("p", "drop_prob") or "dropout" in name or "jitter" in name)
        for module in layer.modules()
        for name, rate in vars(module).items()
    )


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
