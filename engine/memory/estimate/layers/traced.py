"""The layers of one model, each kind traced once for every way to train it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from engine.errors import UserError
from engine.memory.estimate.layers.kinds import OneOfEach
from engine.memory.estimate.layers.outputs import Outputs
from engine.memory.estimate.layers.recipe import Recipe, ready_layers
from engine.memory.estimate.layers.sizes import Held, HoldsByBatch, sizes_of
from engine.memory.estimate.layers.slices import held_in_slices
from engine.memory.estimate.layers.tape import Recording
from engine.memory.estimate.layers.trace import record

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel


class TracedLayers:
    """What layers of each kind of one model hold, by the way that they are trained and by the batch.

    `outputs` may be shared by models: their operators are the same.
    """

    def __init__(self, model: PreTrainedModel, outputs: Outputs | None = None) -> None:
        self._name = type(model).__name__
        with self._explained():
            self._one_of_each = OneOfEach(model, outputs or Outputs())
        self._by_recipe: dict[Recipe, Mapping[str, HoldsByBatch]] = {}

    def held(self, recipe: Recipe, lines: int, length: int, slices: int) -> Mapping[str, Held]:
        """By kind, with a batch [lines, length] in so many slices. Raises UserError."""
        for _ in self.traced(recipe):
            pass
        sizes = self._by_recipe[recipe]
        with self._explained():
            return {kind: held_in_slices(of_kind, lines, length, slices) for kind, of_kind in sizes.items()}

    def traced(self, recipe: Recipe) -> Iterator[None]:
        """Trace a way to train, unless that is done, with a pause every few milliseconds. Raises UserError."""
        if recipe in self._by_recipe:
            return
        with self._explained():
            layers = ready_layers(self._one_of_each, recipe)
            found: dict[str, HoldsByBatch] = {}
            for kind, layer in layers.items():
                found[kind] = yield from self._of_layer(kind, layer, recipe)
            self._by_recipe[recipe] = found

    def _of_layer(self, kind: str, layer: nn.Module, recipe: Recipe) -> Generator[None, None, HoldsByBatch]:
        def recorded(lines: int, length: int) -> Recording:
            told = self._one_of_each.told(lines, length, packs=recipe.packs)[kind]
            size, dtype = self._one_of_each.hidden_size, self._one_of_each.dtype
            hidden = torch.empty(lines, length, size, dtype=dtype, device="meta")
            frees_gradients = recipe.frees_gradients and not recipe.compiles
            return record(layer, hidden, told, frees_gradients=frees_gradients, outputs=self._one_of_each.outputs)

        gradients = sum(weight.nbytes for weight in layer.parameters() if weight.requires_grad)
        return (yield from sizes_of(recorded, gradients, compiles=recipe.compiles))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Within, what a model's own code says of tensors without numbers becomes one sentence."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise UserError(
                f"the memory of the layers of {self._name} cannot be told without running them ({reason})."
            ) from error
