"""Compiled layers: torch.compile on the training forward pass of each kind of decoder layer.

`compile_layers` puts them into a model, `watch` counts what is compiled, `compiler` says whether a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from engine.model.compiled.forward import CompiledForward
from engine.model.compiled.kinds import Kinds
from engine.model.decoder import decoder_layers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Backend = str | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class CompiledLayers:
    """What was set up; the compiler runs when the layers first do."""

    layers: int
    kinds: int
    left_out: int
    """Layers whose tokens are laid out anew for each batch: those run as they are."""

    def sentence(self) -> str:
        """For the console."""
        kinds = "1 kind" if self.kinds == 1 else f"{self.kinds} kinds"
        told = f"{self.layers} layers of {kinds} are compiled, those of a kind share their graphs"
        if self.left_out:
            told += f"; {self.left_out} others are not: their mixers take each document of a pack by itself"
        return told


def compile_layers(
    model: PreTrainedModel, *, fixed_length: bool, leave_out: tuple[nn.Module, ...] = (), backend: Backend = "inductor"
) -> CompiledLayers:
    """Let the decoder layers of `model` run compiled in training; evaluation stays as it is.

    To be called last: whatever else belongs into a layer's forward pass (operators, float8, frozen weights,
    recomputation) has to stand. With `fixed_length` all batches have lines of one length; otherwise the length is an
    unknown of the graph. Layers with a module of `leave_out` in them stay as they are. Raises UserError for a model
    without a list of its layers.
    """
    kinds = Kinds(backend)
    compiled = left_out = 0
    for layer in decoder_layers(model, "model.compile").values():
        if any(module in leave_out for module in layer.modules()):
            left_out += 1
            continue
        layer.forward = CompiledForward(layer, kinds.of(layer), fixed_length=fixed_length)
        compiled += 1
    return CompiledLayers(compiled, len(kinds), left_out)
