"""A layer that is computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, noop_context_fn

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
