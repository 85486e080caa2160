"""A recomputed layer takes the lines of a batch in slices, one after another, so that what it computes lies there once
for a slice and not for the batch.

Nothing in a layer passes from one line of a batch to another. Autograd goes back through the slices one by one too,
each of which is computed again just before. It adds up the slices' gradients of a weight, in the weight's type, and
hands them on once they are complete; so hooks on weights fire once a pass, as without slices.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from engine.model.decoder import decoder_layers
from engine.model.slices.forward import KEY, SlicedForward

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class SlicedLayers:
    """What was set up."""

    slices: int
    layers: int
    left_out: int
    """Layers whose mixers take each document of a pack by itself: those take a batch at once."""

    def sentence(self) -> str:
        """For the console."""
        told = f"{self.layers} layers take a batch in {self.slices} slices, one after another"
        if self.left_out:
            told += f"; {self.left_out} others do not: their mixers take each document of a pack by itself"
        return told


def slice_layers(model: PreTrainedModel, slices: int, leave_out: Collection[nn.Module] = ()) -> SlicedLayers:
    """Let the layers take a batch in so many slices in training; evaluation is as before.

    To be called when the layers are recomputed and, if they are to be, compiled. Layers with a module of `leave_out` in
    them stay as they are. Raises UserError for a model without a list of its layers.
    """
    sliced = left_out = 0
    for layer in decoder_layers(model, KEY).values():
        if any(module in leave_out for module in layer.modules()):
            left_out += 1
            continue
        layer.forward = SlicedForward(layer, slices)
        sliced += 1
    return SlicedLayers(slices, sliced, left_out)
