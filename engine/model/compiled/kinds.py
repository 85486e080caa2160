"""The kinds of layers in a model, and one function for each that the compiler makes one graph of."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, noop_context_fn

from engine.model.compiled.forward import LayerFunction
from engine.model.recompute.forward import RecomputedForward

INDUCTOR = "inductor"
WITHOUT_PADDED_PRODUCTS: dict[str, Any] = {"shape_padding": False}
"""Lines are padded to multiples of 8, so that there is nothing to win; and whether padding would pay asks how many
tokens there are, which ties the graph to more or to less of them: a short last batch was compiled again."""


class Kinds:
    """Layers that are built alike share one compiled function: weights are inputs of its graph.

    Alike are layers with the same modules, with weights of the same shapes, types and training, that keep the same for
    the backward pass.
    """

    def __init__(self, backend: str | Callable[..., Any]) -> None:
        self._backend = backend
        self._options = WITHOUT_PADDED_PRODUCTS if backend == INDUCTOR else None
        self._functions: dict[Hashable, LayerFunction] = {}

    def __len__(self) -> int:
        return len(self._functions)

    def of(self, layer: nn.Module) -> LayerFunction:
        """The function for layers of this one's kind. The forward pass of the layer's class is what is compiled."""
        recomputed = vars(layer).get("forward")
        assert recomputed is None or isinstance(recomputed, RecomputedForward), "a forward pass of unknown origin"
        key = (_structure(layer), recomputed and recomputed.keeps)
        if key not in self._functions:
            function = _plain if recomputed is None else _recomputing(recomputed)
            own = _with_own_code(function, f"layer_of_kind_{len(self) + 1}")
            self._functions[key] = torch.compile(own, fullgraph=True, backend=self._backend, options=self._options)
        return self._functions[key]


def _plain(layer: Any, *args: Any, **kwargs: Any) -> Any:
    return type(layer).forward(layer, *args, **kwargs)


def _recomputing(recomputed: RecomputedForward) -> Callable[..., Any]:
    """With the recomputation inside, so that the compiler plans it together with the backward pass."""
    how: dict[str, Any] = {"use_reentrant": False, "preserve_rng_state": recomputed.preserves_random_state}
    if recomputed.contexts is not noop_context_fn:
        how["context_fn"] = recomputed.contexts

    def run(layer: Any, *args: Any, **kwargs: Any) -> Any:
        def body(*args: Any, **kwargs: Any) -> Any:
            return type(layer).forward(layer, *args, **kwargs)

        return checkpoint(body, *args, **how, **kwargs)

    return run


def _structure(layer: nn.Module) -> Hashable:
    modules = tuple((name, type(module)) for name, module in layer.named_modules())
    weights = tuple((name, *_form(weight)) for name, weight in layer.named_parameters())
    buffers = tuple((name, *_form(buffer)) for name, buffer in layer.named_buffers())
    return modules, weights, buffers


def _form(tensor: torch.Tensor) -> tuple[Hashable, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.requires_grad


def _with_own_code(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function with a code object of its own.

    The compiler keeps its graphs with the code and looks through all of them at each call; so a call finds only those
    of its layer's kind, and no kind uses up the number of graphs that another one may have.
    """
    assert isinstance(function, FunctionType)
    code = function.__code__.replace(co_name=name)
    own = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    own.__kwdefaults__ = function.__kwdefaults__
    return own
