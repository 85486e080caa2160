"""No forward pass waits for the device to learn whether it is packed, and every mask is the one it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, masking_utils

from engine.data.feeding.batches import Slots, packs_of
from engine.model.decoder import decoder_of
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.mask_detection import documents_of, tell_packs_by_position_ids
from tests.model.recompute.conftest import SMALL
from tests.model.small import HYBRID

KINDS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SMALL},
    "qwen3": {"model_type": "qwen3", **SMALL},
    "gemma3": {
        "model_type": "gemma3_text",
        **SMALL,
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 8,
    },
    "qwen3_5": {"model_type": "qwen3_5_text", **SMALL, **HYBRID},
}
IDS = torch.arange(40).view(2, 20) % 64
PACKS = packs_of([Slots(0, 0, 7), Slots(0, 7, 8), Slots(0, 8, 20), Slots(1, 0, 9), Slots(1, 9, 16)], IDS.shape)


class Waits(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations whose result the program would wait for, were the tensors on a GPU."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func._schema.name)
        if name in ("aten::_local_scalar_dense", "aten::nonzero", "aten::equal"):
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def build(kind: str) -> PreTrainedModel:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**KINDS[kind]), dtype=torch.float32)
    use_delta_rule_operator(model)
    return model


def hidden(model: PreTrainedModel, told: dict[str, Any]) -> tuple[Tensor, list[str]]:
    """The last hidden state, and what was waited for."""
    with Waits() as waits, torch.no_grad():
        vectors: Tensor = decoder_of(model)(input_ids=IDS, use_cache=False, **told).last_hidden_state
    return vectors, waits.found


@pytest.mark.parametrize("kind", KINDS)
def test_no_forward_pass_asks_and_all_vectors_are_as_before(kind: str) -> None:
    model = build(kind)
    expected, asked = hidden(model, {})
    tell_packs_by_position_ids(model)
    found, waited = hidden(model, {})
    assert asked and not waited, "transformers asks, so there is something to spare"
    assert torch.equal(found, expected)


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_nor_does_one_of_packs(kind: str) -> None:
    model = build(kind)
    told = {"position_ids": PACKS.position_ids}
    expected, asked = hidden(model, told)
    tell_packs_by_position_ids(model)
    found, waited = hidden(model, told)
    assert asked and not waited
    assert torch.equal(found, expected)


def test_documents_are_counted_as_transformers_counts_them() -> None:
    assert torch.equal(documents_of(PACKS.position_ids), masking_utils.find_packed_sequence_indices(PACKS.position_ids))


def test_after_a_forward_pass_and_a_failed_one_the_library_is_as_it_was() -> None:
    model = build("llama")
    detection = masking_utils.find_packed_sequence_indices
    tell_packs_by_position_ids(model)
    hidden(model, {})
    assert masking_utils.find_packed_sequence_indices is detection
    with pytest.raises(ValueError, match="input_ids or inputs_embeds"):
        decoder_of(model)()
    assert masking_utils.find_packed_sequence_indices is detection


def test_generating_token_by_token_gives_the_same_tokens() -> None:
    model = build("qwen3_5").eval()
    before = model.generate(IDS[:1, :5], max_new_tokens=6, do_sample=False)
    tell_packs_by_position_ids(model)
    assert torch.equal(model.generate(IDS[:1, :5], max_new_tokens=6, do_sample=False), before)
