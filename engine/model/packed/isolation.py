"""Keeps the documents of a packed batch apart in one model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from engine.data.feeding.batches import Packs
from engine.model.attention.interface import by_documents, takes_documents_without_mask
from engine.model.decoder import decoder_of
from engine.model.delta_rule.mixer import takes_documents
from engine.model.packed.layout import Regrouped, borders_of, stacked
from engine.model.packed.masks import document_masks, library_masks, takes_document_mask
from engine.to_device import to_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MaskMaker = Callable[["PreTrainedModel", torch.Tensor], Any]
"""Makes what the model takes as its attention mask from position ids [B, S]."""

RECURRENT_MIXERS = (
    "DeltaNet",
    "DeltaAttention",
    "MambaMixer",
    "Mamba2Mixer",
    "MambaLayer",
    "BambaMixer",
    "FalconH1Mixer",
    "ShortConv",
    "LightningAttention",
    "RecurrentBlock",
)
"""How the classes of layers end that carry a state or a convolution from token to token."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to keep documents apart."""

    how: str
    """For people."""
    mixers: tuple[nn.Module, ...] = ()
    """Layers whose tokens are laid out anew, each document in a line of its own."""
    tells_borders: bool = False
    """Whether the model is told where documents begin, and tells its layers."""
    masks: MaskMaker | None = None
    """Makes the mask for attention here; most models can make it themselves from position ids that restart."""


class Isolation:
    """Tells a model of the documents in its lines.

    Attention learns of them by position ids that restart, by a mask, or by `cu_seqlens` with flash attention. Layers
    that carry a state take `cu_seqlens` where they compute with our operators; the tokens of others are laid out anew,
    see `stacked`. Only those are wrapped, and `remove` takes the wrappers off again.
    """

    def __init__(self, model: PreTrainedModel, way: Way) -> None:
        self.way = way
        self._model = model
        self._entered: Regrouped | None = None
        self._layout: Regrouped | None = None
        self._hook = decoder_of(model).register_forward_pre_hook(self._begin)
        self._forwards_before = [vars(mixer).get("forward") for mixer in way.mixers]
        for mixer in way.mixers:
            mixer.forward = partial(self._forward, mixer.forward)

    def remove(self) -> None:
        """Take the wrappers off."""
        self._hook.remove()
        for mixer, forward in zip(self.way.mixers, self._forwards_before, strict=True):
            del mixer.forward
            if forward is not None:
                mixer.forward = forward

    def enter(self, packs: Packs | None) -> dict[str, Any]:
        """Be ready for a batch with these packs, or with one document a line; returns what the model is to be told.

        What is entered holds for one forward pass, and for layers that its backward pass runs once more.
        """
        self._entered = None
        if packs is None:
            return {}
        weight = self._model.get_input_embeddings().weight
        self._entered = stacked(packs, weight.device) if self.way.mixers else None
        told: dict[str, Any] = {"position_ids": to_device(packs.position_ids, weight.device)}
        if self.way.tells_borders:
            told |= _borders(packs, weight.device)
            told["document_places"] = told["position_ids"].to(torch.int32)
        if uses_flash_attention(self._model):
            told |= _told_to_flash_attention(packs, weight.device)
        if self.way.masks is not None:
            told["attention_mask"] = self.way.masks(self._model, told["position_ids"])
        return told

    def _begin(self, *_: Any) -> None:
        """A forward pass begins: whoever calls the model without entering has one document a line."""
        self._layout, self._entered = self._entered, None

    def _forward(self, forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._layout is None:
            return forward(*args, **kwargs)
        return self._layout.run(forward, args, kwargs)


def possible_ways(model: PreTrainedModel) -> Iterator[Way]:
    """The ways to keep documents apart that this model and its device may allow, the quickest first."""
    mixers = tuple(module for module in model.modules() if type(module).__name__.endswith(RECURRENT_MIXERS))
    flash = uses_flash_attention(model)
    attention = "variable-length attention" if flash else "a block mask in attention"
    for in_mixers, laid_out, tells_borders in _in_mixers(mixers):
        if takes_documents_without_mask(model):
            yield Way("attention by documents" + in_mixers, laid_out, tells_borders=True, masks=by_documents)
        for masks in (None,) if flash else _mask_makers(model):
            yield Way(attention + in_mixers, laid_out, tells_borders=tells_borders, masks=masks)


def uses_flash_attention(model: PreTrainedModel) -> bool:
    """Whether attention runs in a kernel that takes documents one after the other."""
    return str(getattr(model.config.get_text_config(), "_attn_implementation", "")).startswith("flash")


def _mask_makers(model: PreTrainedModel) -> tuple[MaskMaker | None, ...]:
    ours = (document_masks,) if takes_document_mask(model) else ()
    return (*ours, None, library_masks)


def _in_mixers(mixers: Sequence[nn.Module]) -> Iterator[tuple[str, tuple[nn.Module, ...], bool]]:
    """In words, the layers that are laid out anew, and whether they are told where documents begin instead."""
    if not mixers:
        yield "", (), False
        return
    layers = f"{len(mixers)} {type(mixers[0]).__name__} layers"
    if all(map(takes_documents, mixers)):
        yield f" and cu_seqlens in {layers}", (), True
    yield f" and each document by itself in {layers}", tuple(mixers), False


def _borders(packs: Packs, device: torch.device) -> dict[str, Any]:
    """Where documents begin and end over all lines, padding included, for the operators of the delta rule."""
    borders = borders_of(packs)
    return {"cu_seq_lens_q": to_device(borders, device), "cu_seq_lens_cpu": borders}


def _told_to_flash_attention(packs: Packs, device: torch.device) -> dict[str, Any]:
    """The same for flash attention, which wants a bound of their lengths besides: a line's, which never changes."""
    on_device = to_device(borders_of(packs), device)
    longest = packs.position_ids.shape[1]
    return {"cu_seq_lens_q": on_device, "cu_seq_lens_k": on_device, "max_length_q": longest, "max_length_k": longest}
