"""The kinds of a model's decoder layers, one copy of each, and what the decoder tells its layers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from engine.errors import UserError
from engine.memory.estimate.layers.attention import trace_attention
from engine.memory.estimate.layers.outputs import Outputs, Remembering
from engine.model.attention.interface import KINDS, by_documents
from engine.model.decoder import decoder_layers, decoder_of
from engine.model.delta_rule.mixer import can_replace, replace_forward
from engine.model.mask_detection import ToldForward

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_BATCHES_KEPT = 16
"""Of which the decoder's words to its layers are remembered: all ways to train are traced on the same few."""


def kinds_of(model: PreTrainedModel) -> dict[str, list[nn.Module]]:
    """The decoder's layers by kind, in the model's words where it has any ("linear_attention", ...), in order.

    Layers of one name that are built differently, such as the first of a mixture of experts, have a number behind it.
    Raises UserError for a model without a list of its layers.
    """
    layers = _layers(model)
    words = getattr(model.config.get_text_config(), "layer_types", None) or [type(layer).__name__ for layer in layers]
    by_build: dict[Hashable, list[nn.Module]] = {}
    names: dict[Hashable, str] = {}
    for word, layer in zip(words, layers, strict=False):
        build = (word, _build(layer))
        if build not in names:
            before = sum(1 for other in names if isinstance(other, tuple) and other[0] == word)
            names[build] = word if not before else f"{word} {before + 1}"
        by_build.setdefault(build, []).append(layer)
    return {names[build]: alike for build, alike in by_build.items()}


def _layers(model: PreTrainedModel) -> list[nn.Module]:
    try:
        return list(decoder_layers(model).values())
    except UserError as error:
        raise UserError(
            f"the memory of {type(model).__name__} cannot be told: it has no list of its layers, one of which would be "
            "traced."
        ) from error


@dataclass(frozen=True, slots=True)
class Told:
    """What a layer is called with besides hidden states."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class OneOfEach:
    """A decoder of one layer of each kind on the meta device, with the engine's operators and a GPU's attention in it.

    The model that it is taken from stays as it is. `outputs` are those of models before.
    """

    def __init__(self, model: PreTrainedModel, outputs: Outputs) -> None:
        kinds = kinds_of(model)
        if not kinds:
            raise UserError("the model has no decoder layer: its num_hidden_layers is 0")
        decoder, first = decoder_of(model), [layers[0] for layers in kinds.values()]
        whole = next(module for module in decoder.modules() if isinstance(module, nn.ModuleList) and first[0] in module)
        chosen = nn.ModuleList()
        memo: dict[int, Any] = {id(whole): chosen}
        config = copy.deepcopy(decoder.config, memo)
        text = config.get_text_config()
        text.num_hidden_layers = len(first)
        if types := getattr(text, "layer_types", None):
            with suppress(AttributeError):  # models of one kind may derive it from the number of layers
                text.layer_types = [types[list(whole).index(layer)] for layer in first]
        chosen.extend(copy.deepcopy(layer, memo) for layer in first)
        self.decoder: Any = copy.deepcopy(decoder, memo)
        self.decoder.forward = ToldForward(self.decoder.forward)  # there are no numbers to find packs by
        self.layers: Mapping[str, nn.Module] = dict(zip(kinds, chosen, strict=True))
        self.outputs = outputs
        self._told: dict[tuple[int, int, bool], dict[str, Told]] = {}
        self.hidden_size = int(text.hidden_size)
        self.dtype: torch.dtype = model.dtype
        self._takes_documents = trace_attention(text) and set(getattr(text, "layer_types", None) or ()) <= KINDS
        for module in chosen.modules():
            if type(module).__name__.endswith("GatedDeltaNet") and can_replace(module):
                replace_forward(module)

    def told(self, lines: int, length: int, *, packs: bool) -> dict[str, Told]:
        """What the decoder tells its layers of a batch [lines, length], by kind.

        Packs are told by their borders, as in a run, where the layers take them so; else they count as plain lines.
        """
        if (batch := (lines, length, packs)) not in self._told:
            while len(self._told) >= _BATCHES_KEPT:
                del self._told[next(iter(self._told))]
            self._told[batch] = self._listened(lines, length, packs=packs)
        return self._told[batch]

    def _listened(self, lines: int, length: int, *, packs: bool) -> dict[str, Told]:
        found: dict[str, Told] = {}
        before = {name: vars(layer).get("forward") for name, layer in self.layers.items()}
        for name, layer in self.layers.items():
            layer.forward = _listening(type(layer).forward.__get__(layer), found, name)
        ids = torch.empty(lines, length, dtype=torch.int64, device="meta")
        documents = _of_packs(self.decoder, ids) if packs and self._takes_documents else {}
        try:
            with torch.no_grad(), Remembering(self.outputs):
                self.decoder(input_ids=ids, use_cache=False, **documents)
        finally:
            for name, layer in self.layers.items():
                del layer.forward
                if (forward := before[name]) is not None:
                    layer.forward = forward
        return found


def _listening(forward: Callable[..., Any], found: dict[str, Told], name: str) -> Callable[..., Any]:
    def listen(*args: Any, **kwargs: Any) -> Any:
        rest = {key: value for key, value in kwargs.items() if key != "hidden_states"}
        found[name] = Told(args[1:], rest)
        return forward(*args, **kwargs)

    return listen


def _of_packs(decoder: Any, ids: Tensor) -> dict[str, Any]:
    """What a run tells a model of packs (`engine.model.packed`), were each line one document."""
    lines, length = ids.shape
    positions = torch.empty(lines, length, dtype=torch.int64, device="meta")
    borders = torch.empty(lines + 1, dtype=torch.int32, device="meta")
    return {
        "position_ids": positions,
        "attention_mask": by_documents(decoder, positions),
        "cu_seq_lens_q": borders,
        "cu_seq_lens_cpu": borders,
        "document_places": torch.empty(lines, length, dtype=torch.int32, device="meta"),
    }


def _build(layer: nn.Module) -> Hashable:
    modules = tuple((name, type(module)) for name, module in layer.named_modules())
    weights = tuple((name, tuple(weight.shape), weight.requires_grad) for name, weight in layer.named_parameters())
    return modules, weights
