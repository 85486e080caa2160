"""What one layer of each kind holds, remembered for each model and way to train it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.config import Config
from engine.memory.estimate.layers.kinds import kinds_of
from engine.memory.estimate.layers.outputs import Outputs
from engine.memory.estimate.layers.recipe import Recipe
from engine.memory.estimate.layers.traced import TracedLayers

if TYPE_CHECKING:
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
    found = _remembered(model).held(Recipe.of(config), lines, length, config.memory.layer_slices)
    return {kind: LayerBytes(held.kept, held.forward, held.backward, held.gradients) for kind, held in found.items()}


def traced_beforehand(model: PreTrainedModel, config: Config) -> Iterator[None]:
    """What the first `layer_bytes` of a model and a way to train would take its time for, with a pause every few
    milliseconds, in which anything else may be asked. Raises UserError."""
    return _remembered(model).traced(Recipe.of(config))


_TRACED: weakref.WeakKeyDictionary[PreTrainedModel, TracedLayers] = weakref.WeakKeyDictionary()
_OUTPUTS = Outputs()


def _remembered(model: PreTrainedModel) -> TracedLayers:
    if model not in _TRACED:
        _TRACED[model] = TracedLayers(model, _OUTPUTS)
    return _TRACED[model]
