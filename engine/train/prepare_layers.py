"""What is put into the layers of a loaded model, in the order in which each part builds on the one before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.config import Config
from engine.data import EpochSampler, PreparedData
from engine.model.attention.install import use_attention_kernels
from engine.model.compiled import compile_layers
from engine.model.compiled.compiler import require_compiler
from engine.model.delta_rule.install import SLOWER, use_delta_rule_operator
from engine.model.float8 import require_float8, use_float8
from engine.model.freeze import freeze_non_attention
from engine.model.head import LossHead, loss_head
from engine.model.mask_detection import tell_packs_by_position_ids
from engine.model.offload import LayerInputs, offload_layer_inputs
from engine.model.recompute import recompute_activations
from engine.model.slices import slice_layers
from engine.model.slices.proof import prove_slices
from engine.session.session import Session
from engine.train.packing import keep_packs_apart

if TYPE_CHECKING:
    import torch
    from torch import nn
    from transformers import PreTrainedModel

    from engine.model.compiled.watch import CompilerWatch


@dataclass(frozen=True, slots=True)
class PreparedLayers:
    """What training meets the layers by."""

    head: LossHead
    sampler: EpochSampler
    """The order to train in: without packs where the model would not keep those apart."""
    compiler: CompilerWatch | None
    """What the compiler does, where layers are compiled."""
    layer_inputs: LayerInputs | None
    """What waits in main memory, where the layers' inputs do."""
    slow_paths: tuple[str, ...] = ()
    """What runs slower on this machine than it could, a sentence each."""


def require_what_layers_need(config: Config, device: torch.device) -> None:
    """Raise UserError, before anything is loaded, for what is asked for and not to be had on this device."""
    if config.memory.float8_training:
        require_float8(device)
    if config.model.compile:
        require_compiler(device)


def prepare_layers(
    model: PreTrainedModel, config: Config, data: PreparedData, sampler: EpochSampler, session: Session
) -> PreparedLayers:
    """Make the layers ready to train as the config says, and tell of it. Raises UserError for what this model refuses.

    The order matters: frozen weights decide what a recomputation needs, the compiler and the slices take a layer's
    forward pass as it stands, and an input that leaves the device is the one of all slices.
    """
    tell_packs_by_position_ids(model)
    slow_paths = _use_own_operators(model, config, sampler, session)
    if config.memory.float8_training:
        session.say(use_float8(model).sentence())
    if config.train.freeze_non_attention:
        freeze_non_attention(model)
    _recompute(model, config, session)
    if config.memory.layer_slices > 1:
        prove_slices(model)
    head = loss_head(model, config.memory.chunked_loss, config.memory.loss_chunk_tokens)
    sampler, isolation = keep_packs_apart(model, sampler, config, data, session)
    laid_out = isolation.way.mixers if isolation is not None else ()
    compiler = _compile(model, sampler, laid_out, session) if config.model.compile else None
    if config.memory.layer_slices > 1:
        session.say(slice_layers(model, config.memory.layer_slices, leave_out=laid_out).sentence())
    layer_inputs = offload_layer_inputs(model) if config.memory.offload_activations else None
    return PreparedLayers(replace(head, isolation=isolation), sampler, compiler, layer_inputs, slow_paths)


def _use_own_operators(
    model: PreTrainedModel, config: Config, sampler: EpochSampler, session: Session
) -> tuple[str, ...]:
    """The delta rule as operators, and attention in this GPU's kernels unless another implementation is asked for.

    Returns what is told of operators that lack their kernels.
    """
    told_of_operators = use_delta_rule_operator(model)
    for sentence in told_of_operators:
        session.say(sentence)
    is_free = config.model.attn_implementation == "auto"
    if is_free and (told := use_attention_kernels(model, one_length=_rows_have_one_length(sampler))):
        session.say(told)
    return tuple(sentence for sentence in told_of_operators if SLOWER in sentence)


def _recompute(model: PreTrainedModel, config: Config, session: Session) -> None:
    how = config.train.gradient_checkpointing
    if how != "none":
        session.say(recompute_activations(model, how, compiles=config.model.compile).sentence())


def _compile(
    model: PreTrainedModel, sampler: EpochSampler, laid_out: tuple[nn.Module, ...], session: Session
) -> CompilerWatch:
    """Compile the layers when all else is in them; returns what follows the compiler."""
    from engine.model.compiled.watch import CompilerWatch  # imports the compiler

    has_one_length = sampler.pack_length is not None or _rows_have_one_length(sampler)
    session.say(compile_layers(model, fixed_length=has_one_length, leave_out=laid_out).sentence())
    return CompilerWatch(session.say)


def _rows_have_one_length(sampler: EpochSampler) -> bool:
    return len(set(sampler.lengths)) == 1
