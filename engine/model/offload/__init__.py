"""The inputs of the layers in main memory between the forward and the backward pass.

With activation checkpointing they are what a layer keeps: `recompute` keeps the rest small, this takes them off the
device too. What is on the device at once: the input of the layer that computes, and one or two that are on their way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.model.decoder import decoder_layers
from engine.model.offload.copies import AtOnce, Copies, SideStream
from engine.model.offload.inputs import LayerInputs, OffloadingForward

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["LayerInputs", "offload_layer_inputs"]


def offload_layer_inputs(model: PreTrainedModel, copies: Copies | None = None) -> LayerInputs:
    """Let the inputs of the decoder's layers wait in main memory while training, once the layers are recomputed.

    Values are not changed: the backward pass gets the very bits that the forward pass had. The input of the last layer
    stays, since it is wanted at once. Evaluation is as before. Raises UserError for a model without a list of layers.
    """
    layers = list(decoder_layers(model, "memory.offload_activations").values())
    inputs = LayerInputs(copies or _copies_for(model.get_input_embeddings().weight.device), len(layers))
    for number, layer in enumerate(layers):
        layer.forward = OffloadingForward(layer, inputs, number)
    return inputs


def _copies_for(device: torch.device) -> Copies:
    return SideStream(device) if device.type == "cuda" else AtOnce()
