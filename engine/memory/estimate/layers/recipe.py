"""How the layers of a run are trained, as far as their memory depends on it, and a layer made ready for that."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import noop_context_fn

from engine.config import Config
from engine.memory.estimate.layers.kinds import OneOfEach, Told
from engine.memory.estimate.layers.product import use_float8
from engine.memory.estimate.layers.trace import pass_through
from engine.model.probe import PROBE_TOKENS
from engine.model.recompute.by_name import keeping
from engine.model.recompute.by_shape import choose_by_shape, keeping_shapes
from engine.model.recompute.choice import choose
from engine.model.recompute.forward import RecomputedForward
from engine.model.recompute.matmuls import Cost, MatmulRecorder, weights_by_key


@dataclass(frozen=True, slots=True)
class Recipe:
    """The keys of a config on which the bytes of a layer depend, for weights that are frozen or not already."""

    checkpointing: str
    compiles: bool
    float8: bool
    frees_gradients: bool
    """Whether the gradient of a weight is gone as soon as it is made: released, or added to that of other passes or
    slices."""
    packs: bool

    @classmethod
    def of(cls, config: Config) -> Recipe:
        """As a config on a GPU has them."""
        return cls(
            checkpointing=config.train.gradient_checkpointing,
            compiles=config.model.compile,
            float8=config.memory.float8_training,
            frees_gradients=not config.model.compile  # a compiled layer hands out all of its gradients together
            and (
                config.memory.gradient_release
                or config.train.gradient_accumulation_steps > 1
                or config.memory.layer_slices > 1
            ),
            packs=config.data.packing,
        )


def ready_layers(one_of_each: OneOfEach, recipe: Recipe) -> Mapping[str, nn.Module]:
    """Copies of the layers with float8 and recomputation, as `engine.train.prepare_layers` has it."""
    told = one_of_each.told(1, PROBE_TOKENS, packs=False)
    return {name: _ready(layer, one_of_each, told[name], recipe) for name, layer in one_of_each.layers.items()}


def _ready(layer: nn.Module, one_of_each: OneOfEach, told: Told, recipe: Recipe) -> nn.Module:
    layer = copy.deepcopy(layer).train()
    if recipe.float8 and not recipe.compiles:
        use_float8(layer, keeps_rounded=False)
    if recipe.checkpointing != "none":
        _recompute(layer, one_of_each, told, recipe)
    if recipe.float8 and recipe.compiles:  # what a graph computes again is found with plain products
        use_float8(layer, keeps_rounded=True)
    return layer


def _recompute(layer: nn.Module, one_of_each: OneOfEach, told: Told, recipe: Recipe) -> None:
    forward = RecomputedForward(layer)
    layer.forward = forward
    if recipe.checkpointing == "full":
        return
    costs: Mapping[str, Cost] = {}
    if recipe.checkpointing == "selective":
        recorder = MatmulRecorder(weights_by_key(layer))
        forward.contexts = partial(lambda seen: (nullcontext(), seen), recorder)
        hidden = torch.empty(1, PROBE_TOKENS, one_of_each.hidden_size, dtype=one_of_each.dtype, device="meta")
        pass_through(layer, hidden, told, one_of_each.outputs)
        costs = recorder.costs
    forward.contexts = noop_context_fn
    kept: Any
    if recipe.compiles:
        kept = keeping_shapes(frozenset(choose_by_shape(layer, costs).values()))
    else:
        kept = keeping(layer, choose(costs))
    forward.contexts = kept
