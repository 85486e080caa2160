"""Small models, batches for them, and what a training pass gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.data.feeding.batches import Packs, Slots, packs_of
from engine.model.decoder import decoder_of
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.packed.isolation import Isolation
from tests.model.small import WIDTHS

SHAPE: dict[str, Any] = {"vocab_size": 128, **WIDTHS}
DELTA: dict[str, Any] = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 16,
}
WIDTH = 24
"""Slots of a line of packs."""
PACKED: tuple[Sequence[Slots], ...] = (
    (Slots(0, 0, 10), Slots(0, 10, 24), Slots(1, 0, 20)),
    (Slots(0, 0, 24), Slots(1, 0, 24)),
    (*(Slots(0, 3 * i, 3 * i + 3) for i in range(8)), Slots(1, 0, 1)),
)
LENGTHS = (40, 24, 17)


def small_model(family: str, layers: int, **more: Any) -> PreTrainedModel:
    """A model in training, with the operators of the delta rule where it has that."""
    torch.manual_seed(0)
    shape = SHAPE | {"num_hidden_layers": layers}
    if family == "qwen3_5_text":
        kinds = ["linear_attention", "linear_attention", "linear_attention", "full_attention"]
        shape |= DELTA | {"layer_types": (kinds * layers)[:layers]}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **(shape | more)), dtype=torch.float32)
    model.train()
    use_delta_rule_operator(model)
    return model


def batches(packed: bool) -> list[tuple[Tensor, Packs | None]]:
    """Three batches: of other documents each in lines of one length, or of lines of other lengths."""
    generator = torch.Generator().manual_seed(1)

    def ids(length: int) -> Tensor:
        return torch.randint(128, (2, length), generator=generator)

    if packed:
        return [(ids(WIDTH), packs_of(documents, (2, WIDTH))) for documents in PACKED]
    return [(ids(length), None) for length in LENGTHS]


def hidden_of(model: PreTrainedModel, isolation: Isolation | None, batch: tuple[Tensor, Packs | None]) -> Tensor:
    """The last hidden state [B, S, H]."""
    ids, packs = batch
    told = isolation.enter(packs) if isolation is not None else {}
    hidden: Tensor = decoder_of(model)(input_ids=ids, use_cache=False, **told).last_hidden_state
    return hidden


def gradients(
    model: PreTrainedModel, isolation: Isolation | None, batch: tuple[Tensor, Packs | None]
) -> dict[str, Tensor]:
    """The gradient of each weight below the head."""
    model.zero_grad()
    hidden_of(model, isolation, batch).float().pow(2).mean().backward()  # type: ignore[no-untyped-call]
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def saved_bytes(model: PreTrainedModel, isolation: Isolation | None, batch: tuple[Tensor, Packs | None]) -> int:
    """What a forward pass keeps for the backward pass, weights left out; each storage once."""
    weights = {_storage(parameter) for parameter in model.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        if _storage(tensor) not in weights:
            kept[_storage(tensor)] = tensor
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        hidden = hidden_of(model, isolation, batch)
    del hidden
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
