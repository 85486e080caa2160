"""What one layer of each kind holds, remembered for each model and way to train it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from engine.config import Config
from engine.errors import UserError
from engine.memory.layers.kinds import OneOfEach, kinds_of
from engine.memory.layers.recipe import Recipe, ready_layers
from engine.memory.layers.sizes import Sizes, sizes_of
from engine.memory.layers.slices import held_in_slices
from engine.memory.layers.tape import Recording
from engine.memory.layers.trace import record

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """What one decoder layer of one kind holds with a batch of B lines of S tokens, in bytes."""

    kept: int
    """What its forward pass leaves for its backward pass, besides its input [B, S, H]; below 0 where it leaves less and
    does not need the input."""
    forward: int
    """The most that its forward pass holds at once, `kept` and the output included, the input not."""
    backward: int
    """The most that its backward pass holds at once beyond what was there when it began: what is computed again,
    incoming and outgoing gradients and those of weights included."""
    gradients: int
    """The gradients of its trained weights, all of them."""


def layers_by_kind(model: PreTrainedModel) -> Mapping[str, int]:
    """How many decoder layers of each kind a model has, in the model's words."""
    return {kind: len(layers) for kind, layers in kinds_of(model).items()}


def layer_bytes(model: PreTrainedModel, config: Config, lines: int, length: int) -> Mapping[str, LayerBytes]:
    """What a layer of each kind holds while a run of `config` trains on a GPU, with batches [lines, length].

    The model is on the meta device, in the type of its weights, and those that the run freezes require no gradient. It
    stays as it is. The first answer for a model and a way to train takes tenths of a second, others well below a
    millisecond. Raises UserError for layers that cannot be traced.
    """
    found = {}
    for kind, sizes in _remembered(model).sizes(Recipe.of(config)).items():
        held = held_in_slices(sizes, lines, length, config.memory.layer_slices)
        found[kind] = LayerBytes(held.kept, held.forward, held.backward, held.gradients)
    return found


class _Traced:
    """The sizes of one model's layers, by the way that they are trained."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._one_of_each = OneOfEach(model)
        self._name = type(model).__name__
        self._by_recipe: dict[Recipe, Mapping[str, Sizes]] = {}

    def sizes(self, recipe: Recipe) -> Mapping[str, Sizes]:
        """By kind. Raises UserError."""
        if recipe not in self._by_recipe:
            try:
                self._by_recipe[recipe] = self._trace(recipe)
            except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:  # a model's own code
                reason = str(error).strip().partition("\n")[0].rstrip(".")
                raise UserError(
                    f"the memory of the layers of {self._name} cannot be told without running them ({reason})."
                ) from error
        return self._by_recipe[recipe]

    def _trace(self, recipe: Recipe) -> Mapping[str, Sizes]:
        layers = ready_layers(self._one_of_each, recipe)
        return {kind: self._of_layer(kind, layer, recipe) for kind, layer in layers.items()}

    def _of_layer(self, kind: str, layer: nn.Module, recipe: Recipe) -> Sizes:
        def recorded(lines: int, length: int) -> Recording:
            told = self._one_of_each.told(lines, length, packs=recipe.packs)[kind]
            size, dtype = self._one_of_each.hidden_size, self._one_of_each.dtype
            hidden = torch.empty(lines, length, size, dtype=dtype, device="meta")
            return record(layer, hidden, told, frees_gradients=recipe.frees_gradients and not recipe.compiles)

        gradients = sum(weight.nbytes for weight in layer.parameters() if weight.requires_grad)
        return sizes_of(recorded, gradients, compiles=recipe.compiles)


_TRACED: weakref.WeakKeyDictionary[PreTrainedModel, _Traced] = weakref.WeakKeyDictionary()


def _remembered(model: PreTrainedModel) -> _Traced:
    if model not in _TRACED:
        _TRACED[model] = _Traced(model)
    return _TRACED[model]
