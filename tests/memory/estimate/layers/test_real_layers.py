"""What a trace without numbers says, held against layers that compute on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from transformers import PreTrainedModel

from engine.memory.estimate.layers import layer_bytes
from engine.memory.estimate.layers.kinds import kinds_of
from engine.memory.estimate.layers.sizes import Held, SizesOfBatches
from engine.memory.estimate.layers.trace import record
from engine.model.delta_rule.documents import CHUNK
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.freeze import freeze_non_attention
from engine.model.recompute import recompute_activations
from tests.memory.estimate.layers.models import FAMILIES, build, told_to, way

BATCH = (3, 200)
"""No multiple of anything that goes by chunks."""


def measured(model: PreTrainedModel, layer: nn.Module, *, frees_gradients: bool) -> Held:
    """What a layer of a model on the CPU holds while it computes."""
    told = told_to(model, layer, BATCH)
    hidden = torch.randn(*BATCH, model.config.get_text_config().hidden_size, dtype=model.dtype)

    def recorded(lines: int, length: int) -> Any:
        return record(layer, hidden, told, frees_gradients=frees_gradients, imagined={})

    return SizesOfBatches(recorded, 0, compiles=False).held(*BATCH)


@pytest.mark.parametrize(
    ("family", "how"),
    [
        *(("llama", how) for how in ("none", "full", "mixers", "selective")),
        ("qwen3", "none"),
        ("gemma3", "selective"),
        ("moe", "none"),
        ("moe", "full"),
    ],
)
def test_a_layer_holds_what_the_trace_says(family: str, how: str) -> None:
    real, traced = (build(family, torch.bfloat16, device) for device in ("cpu", "meta"))
    if how != "none":
        recompute_activations(real, how)  # type: ignore[arg-type]
    told = layer_bytes(traced, way(train__gradient_checkpointing=how), *BATCH)
    for kind, layers in kinds_of(real).items():
        found = measured(real, layers[0], frees_gradients=False)
        assert (told[kind].kept, told[kind].forward) == (found.kept, found.forward)
        assert told[kind].backward == pytest.approx(found.backward, rel=0.01), "torch may sum gradients in other order"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("releases", [False, True])
@pytest.mark.parametrize("mixers_alone", [False, True])
def test_frozen_weights_and_release_count_as_they_are(dtype: torch.dtype, releases: bool, mixers_alone: bool) -> None:
    real, traced = build("smollm2", dtype, "cpu"), build("smollm2", dtype, "meta")
    if mixers_alone:
        for model in (real, traced):
            freeze_non_attention(model)
    config = way(memory__gradient_release=releases, train__freeze_non_attention=mixers_alone)
    [(kind, told)] = layer_bytes(traced, config, *BATCH).items()
    layer = kinds_of(real)[kind][0]
    found = measured(real, layer, frees_gradients=releases)
    assert (told.kept, told.forward, told.backward) == (found.kept, found.forward, found.backward)
    assert told.gradients == sum(weight.nbytes for weight in layer.parameters() if weight.requires_grad)


def test_the_delta_rule_keeps_besides_what_its_kernels_declare() -> None:
    real, traced = build("qwen3_5", torch.bfloat16, "cpu"), build("qwen3_5", torch.bfloat16, "meta")
    use_delta_rule_operator(real)
    told = layer_bytes(traced, way(), *BATCH)["linear_attention"]
    found = measured(real, kinds_of(real)["linear_attention"][0], frees_gradients=False)
    heads = FAMILIES["qwen3_5"]["linear_num_value_heads"]
    declared = BATCH[0] * BATCH[1] * heads * (4 + 2 * CHUNK)  # decay summed up in float32, a row of the inverse
    assert told.kept - found.kept == declared
