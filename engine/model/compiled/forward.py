"""The forward pass of one layer, compiled in training and as it was in evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

LayerFunction = Callable[..., Any]
"""Called with a layer and the arguments of its forward pass."""


class CompiledForward:
    """Takes the place of a layer's `forward`.

    What varies from batch to batch is marked as an unknown of the graph before the compiler sees it: the number of
    documents and, unless `fixed_length`, the length of the lines. So one graph serves all batches.
    """

    def __init__(self, layer: nn.Module, compiled: LayerFunction, *, fixed_length: bool) -> None:
        self._layer = layer
        self._eager = layer.forward
        self._compiled = compiled
        self._fixed_length = fixed_length

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (self._layer.training and torch.is_grad_enabled()):
            return self._eager(*args, **kwargs)
        _mark_what_varies((args, kwargs), lengths_vary=not self._fixed_length)
        return self._compiled(self._layer, *args, **kwargs)


def _mark_what_varies(arguments: Any, *, lengths_vary: bool) -> None:
    """Mark the dimensions of tokens and of documents in the tensors of a layer's arguments.

    Of a vector (cu_seqlens) its length; of hidden states [B, S, H], which come first, position ids [B, S], rotary
    embeddings [1 or B, S, D] and masks [B, 1, S, S] every dimension behind the first that is as long as the lines.
    """
    length = None
    for tensor in _tensors(arguments):
        if tensor.dim() == 1:
            torch._dynamo.maybe_mark_dynamic(tensor, 0)
        elif lengths_vary:
            length = tensor.shape[1] if length is None else length
            for dimension in (2, 3) if tensor.dim() == 4 else (1,):
                if tensor.shape[dimension] == length:
                    torch._dynamo.maybe_mark_dynamic(tensor, dimension)


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested arguments, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
