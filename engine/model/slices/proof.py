"""Proof that nothing in a model's layers passes from one line of a batch to another, so that they can take slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from engine.errors import UserError, is_out_of_memory
from engine.model.decoder import decoder_layers
from engine.model.probe import PROBE_TOKENS, difference, gradient_at_embedding
from engine.model.slices import slice_layers
from engine.model.slices.forward import KEY, even_sizes

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_LINES, _SLICES = 3, 2
_TOLERANCE, _TOLERANCE_BFLOAT16 = 1e-4, 2e-2
"""Largest change of a gradient as a share of its length. What is compared is computed from the same numbers in tensors
of the same shapes, so mostly the change is 0; experts, which take the tokens of all lines together, sum in another
order."""


def prove_slices(model: PreTrainedModel) -> None:
    """Send a few lines through the model, with its layers in slices and without; the layers stay as they are.

    Each slice has to give the gradients that its lines give without the others, and a line those that it gives beside
    other texts. To be called once layers are recomputed, before they are compiled. Raises UserError when that is not
    so.
    """
    layers = list(decoder_layers(model, KEY).values())
    ids = _ids(model)
    with _training_without_chance(model, layers):
        try:
            leak = difference(
                gradient_at_embedding(model, _beside_others(ids))[:1], gradient_at_embedding(model, ids)[:1]
            )
            alone = torch.cat(
                [gradient_at_embedding(model, part) for part in ids.split_with_sizes(even_sizes(_LINES, _SLICES))]
            )
            with _in_slices(model, layers):
                sliced = gradient_at_embedding(model, ids)
        except RuntimeError as error:  # whatever a model's own code says of fewer lines than it was told of
            if is_out_of_memory(error):
                raise
            raise UserError(f"{_refused(model)} ({' '.join(str(error).split())}); set {KEY}: 1.") from error
    tolerance = _TOLERANCE_BFLOAT16 if model.dtype == torch.bfloat16 else _TOLERANCE
    if leak > tolerance:
        raise UserError(f"{_refused(model)}: a line's gradient depends on the other lines; set {KEY}: 1.")
    if difference(sliced, alone) > tolerance:
        raise UserError(f"{_refused(model)}: they give other gradients; set {KEY}: 1.")


def _refused(model: nn.Module) -> str:
    return f"{KEY}: the layers of {type(model).__name__} do not take some lines of a batch by themselves"


def _ids(model: PreTrainedModel) -> Tensor:
    """Some tokens [lines, S]."""
    weight = model.get_input_embeddings().weight
    return (torch.arange(1, _LINES * PROBE_TOKENS + 1, device=weight.device) % len(weight)).view(_LINES, -1)


def _beside_others(ids: Tensor) -> Tensor:
    """The first line as it is, and other texts in the others."""
    return torch.cat([ids[:1], ids[1:].flip(1)])


@contextmanager
def _in_slices(model: PreTrainedModel, layers: Sequence[nn.Module]) -> Iterator[None]:
    before = [vars(layer).get("forward") for layer in layers]
    slice_layers(model, _SLICES)
    try:
        yield
    finally:
        for layer, forward in zip(layers, before, strict=True):
            del layer.forward
            if forward is not None:
                layer.forward = forward


@contextmanager
def _training_without_chance(model: nn.Module, layers: Sequence[nn.Module]) -> Iterator[None]:
    """Within, layers train, and all in them and around them is as in evaluation.

    So there is no dropout, whose numbers would be others, and no product in float8, whose scales would be.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    for layer in layers:
        layer.training = True
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
