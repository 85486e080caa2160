"""Puts together what a step of a config is made of: from the model, the engine's own rules, and its longest batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from torch import Tensor, nn

from engine.config import Config
from engine.memory.estimate.around_layers import kept_by_norm, other_bytes
from engine.memory.estimate.layers import layer_bytes
from engine.memory.estimate.layers.kinds import kinds_of
from engine.memory.estimate.loss_bytes import Head, loss_bytes, tiles_bytes
from engine.memory.estimate.model_shape import ModelShape
from engine.memory.estimate.optimizer_bytes import (
    MODELS_KEPT,
    notes_bytes,
    state_bytes,
    trained_parameters,
    update_bytes,
)
from engine.memory.estimate.phases import LayerLike, StepBytes, Worked
from engine.memory.estimate.reserve import Allocator
from engine.model.decoder import decoder_layers

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def step_bytes(config: Config, shape: ModelShape, allocator: Allocator) -> StepBytes:
    """All bytes of a step of the longest batch. Raises UserError for a model that the config cannot train."""
    model = shape.model_for(config)
    lines, length = config.train.per_device_batch_size, config.data.max_seq_length
    weights, trained = _weights(model), _weights(model, of_trained=True)
    states = state_bytes(model, config.train)
    buffers = other_bytes(model, lines * length) + notes_bytes(model, config.train)
    head = _head(model, lines * length)
    return StepBytes(
        weights=sum(weights.sizes),
        state=sum(states),
        buffers=buffers + allocator.rounding([*weights.sizes, *states]),
        hidden=head.states,
        layers=_layers(model, config, lines, length),
        kept_by_norm=kept_by_norm(model, lines * length),
        loss=loss_bytes(head, config.memory),
        embedding=_embedding(model, config, head),
        tiles=tiles_bytes(head, _is_tied(model)) if config.memory.tiled_head and head.is_trained else None,
        update=update_bytes(model, config.train, releases=config.memory.gradient_release),
        gradients=sum(trained.sizes),
        releases=config.memory.gradient_release,
        accumulates=config.train.gradient_accumulation_steps > 1,
        offloads=config.memory.offload_activations,
        keeps_head_gradient=_is_tied(model),
        moves_after_layer=config.model.compile,
        trained=trained.count,
        parameters=weights.count,
    )


@dataclass(frozen=True, slots=True)
class _Weights:
    """Bytes of each tensor, and the count of all numbers."""

    sizes: tuple[int, ...]
    count: int


@lru_cache(maxsize=2 * MODELS_KEPT)
def _weights(model: PreTrainedModel, *, of_trained: bool = False) -> _Weights:
    chosen = trained_parameters(model) if of_trained else tuple(model.parameters())
    return _Weights(tuple(p.nbytes for p in chosen), sum(p.numel() for p in chosen))


def _layers(model: PreTrainedModel, config: Config, lines: int, length: int) -> tuple[LayerLike, ...]:
    """What each layer holds, from the first one on."""
    by_kind = layer_bytes(model, config, lines, length)
    return tuple(by_kind[kind] for kind in _kinds_in_order(model))


@lru_cache(maxsize=MODELS_KEPT)
def _kinds_in_order(model: PreTrainedModel) -> tuple[str, ...]:
    """The kind of each layer, from the first one on."""
    kinds = {id(layer): kind for kind, layers in kinds_of(model).items() for layer in layers}
    return tuple(kinds[id(layer)] for layer in decoder_layers(model).values())


def _head(model: PreTrainedModel, tokens: int) -> Head:
    weight: Tensor = model.get_output_embeddings().weight
    vocabulary, width = weight.shape
    return Head(vocabulary, width, weight.element_size(), weight.requires_grad, tokens)


def _embedding(model: PreTrainedModel, config: Config, head: Head) -> Worked | None:
    """Its dense gradient, made from that of the tokens by way of float32 sums of up to ten places of one token each."""
    weight: nn.Parameter = model.get_input_embeddings().weight
    is_tied = _is_tied(model)
    if not weight.requires_grad or (is_tied and config.memory.tiled_head):
        return None
    sums = min(head.tokens, len(weight)) + head.tokens // 10
    work = head.states + sums * weight.shape[1] * 4
    is_counted = not (config.memory.gradient_release or is_tied)  # among the gradients of all weights
    return Worked(work, 0 if is_counted and config.train.gradient_accumulation_steps == 1 else weight.nbytes)


def _is_tied(model: PreTrainedModel) -> bool:
    return model.get_input_embeddings().weight is model.get_output_embeddings().weight
