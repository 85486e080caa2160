"""Activation checkpointing: layers forget what they computed, and compute it again in the backward pass.

`matmuls` recognises what a layer computes, `choice` decides what of it is worth its memory, and `by_name` or, for a
compiler, `by_shape` keeps that; `forward` is what a layer runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import noop_context_fn

from engine.errors import UserError
from engine.model.decoder import decoder_layers
from engine.model.probe import difference, gradient_at_embedding, in_mode
from engine.model.recompute.by_name import keeping
from engine.model.recompute.by_shape import choose_by_shape, keeping_shapes
from engine.model.recompute.choice import choose
from engine.model.recompute.forward import RecomputedForward
from engine.model.recompute.matmuls import Cost, MatmulRecorder, weights_by_key

if TYPE_CHECKING:
    from transformers import PreTrainedModel

How = Literal["full", "mixers", "selective"]


@dataclass(frozen=True)
class Recomputation:
    """What the layers of a model keep of their forward pass besides their inputs."""

    how: How
    kept: dict[str, tuple[str, ...]]
    """By layer: the weights whose matmuls are kept; none with `full` and `mixers`."""
    unseen_mixers: int = 0
    """Layers in which no core of attention or of the delta rule was recognised: theirs is computed again."""

    def sentence(self) -> str:
        """For the console."""
        if self.how == "full":
            return f"{len(self.kept)} layers are computed again in the backward pass"
        told = f"{len(self.kept)} layers are computed again but for attention and DeltaNet"
        if self.how == "selective":
            kinds = Counter(self.kept.values())
            kept = "; ".join(f"{count} layers: {', '.join(names) or 'no matmul'}" for names, count in kinds.items())
            told = f"{told.replace(' and ', ', ')} and some matmuls ({kept})"
        if self.unseen_mixers:
            told += (
                f"; in {self.unseen_mixers} of them attention is computed again too, as it is no single operation "
                "there: model.attn_implementation: sdpa makes it one"
            )
        return told


def recompute_activations(model: PreTrainedModel, how: How, *, compiles: bool = False) -> Recomputation:
    """Let each decoder layer be computed again in the backward pass, once the model is frozen and its operators stand.

    `full` keeps a layer's inputs alone. `mixers` also keeps the outputs of attention and of the gated delta rule, which
    take longest for their size; `selective` besides those of about half the work in matmuls (`choice`). The
    convolution is not kept, as its output is twice as large as the rule's and costs four multiplications a number.
    Gradients are those without checkpointing. Evaluation is as before. A few tokens are sent through the model in
    proof: raises UserError when a layer is left out or when the gradient is another one. With `compiles`, for layers
    that are to be compiled, matmuls are chosen by the shapes of their weights instead of by their names.
    """
    layers = decoder_layers(model)
    with in_mode(model, training=True):
        expected = gradient_at_embedding(model)
        forwards = {name: _wrap(layer) for name, layer in layers.items()}
        costs = {name: MatmulRecorder(weights_by_key(layer)) for name, layer in layers.items()}
        for name, forward in forwards.items():
            forward.contexts = partial(lambda recorder: (nullcontext(), recorder), costs[name])
        with _linear_layers_as_they_evaluate(model) if compiles else nullcontext():
            gradient_at_embedding(model)
        _refuse_layers_left_out(model, costs)
        chosen: dict[str, tuple[str, ...]] = dict.fromkeys(layers, ())
        for name, forward in forwards.items():
            forward.contexts = noop_context_fn
            if how != "full":
                costs_of_choice = costs[name].costs if how == "selective" else {}
                chosen[name] = _keep(layers[name], forward, costs_of_choice, by_shape=compiles)
        _refuse_another_gradient(model, expected, gradient_at_embedding(model))
    return Recomputation(how, chosen, sum(not recorder.mixers for recorder in costs.values()))


def _wrap(layer: nn.Module) -> RecomputedForward:
    forward = RecomputedForward(layer)
    layer.forward = forward
    return forward


@contextmanager
def _linear_layers_as_they_evaluate(model: PreTrainedModel) -> Iterator[None]:
    """Within, float8 layers multiply as plain ones do.

    Eager float8 also multiplies where nothing needs the result, as a down projection that goes straight into the
    residual sum; a graph does not. Plain layers do not either, so what they multiply is what a graph computes again.
    """
    linears = [module for module in model.modules() if isinstance(module, nn.Linear) and module.training]
    for linear in linears:
        linear.training = False
    try:
        yield
    finally:
        for linear in linears:
            linear.training = True


def _keep(
    layer: nn.Module, forward: RecomputedForward, costs: Mapping[str, Cost], *, by_shape: bool
) -> tuple[str, ...]:
    """Let the layer keep its mixer's outputs, and of matmuls among `costs` those worth it; returns their names."""
    if by_shape:
        shapes = choose_by_shape(layer, costs)
        forward.keeps = frozenset(shapes.values())
        forward.contexts = keeping_shapes(forward.keeps)
        return tuple(sorted(shapes))
    names = choose(costs)
    forward.contexts = keeping(layer, names)
    return names


def _refuse_layers_left_out(model: PreTrainedModel, recorders: dict[str, MatmulRecorder]) -> None:
    left_out = [name for name, recorder in recorders.items() if not recorder.costs]
    if left_out:
        raise UserError(
            f"train.gradient_checkpointing: {len(left_out)} of {len(recorders)} layers of {type(model).__name__} are "
            f"not computed again, the first: {left_out[0]}; set train.gradient_checkpointing: none."
        )


def _refuse_another_gradient(model: PreTrainedModel, expected: Tensor, found: Tensor) -> None:
    """Kernels on a GPU may add in another order, hence no comparison bit for bit."""
    tolerance = 2e-2 if model.dtype == torch.bfloat16 else 1e-4
    if difference(found, expected) > tolerance:
        raise UserError(
            f"train.gradient_checkpointing: the layers of {type(model).__name__} do not compute the same a second "
            "time; set train.gradient_checkpointing: none."
        )
