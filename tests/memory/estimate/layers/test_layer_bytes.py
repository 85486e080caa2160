"""What users count on: how bytes move with the keys of a config, with the batch, and that the model stays as it is."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest
import torch
from torch import nn

from engine.errors import UserError
from engine.memory.estimate.layers import LayerBytes, layer_bytes, layers_by_kind
from engine.memory.estimate.layers.recipe import Recipe
from engine.memory.estimate.layers.sizes import SizesOfBatches
from engine.memory.estimate.layers.traced import TracedLayers
from tests.memory.estimate.layers.models import build, qwen, way

BATCH = (4, 512)
RECOMPUTED: dict[str, Any] = {"train__gradient_checkpointing": "full"}


def of_qwen(batch: tuple[int, int] = BATCH, **keys: Any) -> Mapping[str, LayerBytes]:
    return layer_bytes(qwen(), way(**keys), *batch)


@pytest.mark.parametrize("compiles", [False, True])
def test_the_less_is_computed_again_the_more_is_kept(compiles: bool) -> None:
    ways = [
        of_qwen(train__gradient_checkpointing=how, model__compile=compiles)
        for how in ("full", "mixers", "selective", "none")
    ]
    for kind in ways[0]:
        kept = [of_kind[kind].kept for of_kind in ways]
        assert kept[0] == 0 and kept == sorted(set(kept))


def test_compiled_layers_keep_less_than_eager_ones() -> None:
    eager, compiled = of_qwen(), of_qwen(model__compile=True)
    assert all(0.5 < compiled[kind].kept / eager[kind].kept < 0.6 for kind in eager)


def test_release_and_slices_lower_the_backward_pass() -> None:
    released = of_qwen(memory__gradient_release=True, **RECOMPUTED)
    without = of_qwen(**RECOMPUTED)
    batch = (4, 4096)
    whole, sliced = (
        of_qwen(batch, memory__layer_slices=slices, train__per_device_batch_size=4, **RECOMPUTED) for slices in (1, 4)
    )
    for kind in released:
        assert released[kind].backward < without[kind].backward
        assert sliced[kind].backward < whole[kind].backward / 2
        assert sliced[kind].gradients == whole[kind].gradients


def test_slices_that_are_not_even_hold_what_the_largest_does() -> None:
    keys: dict[str, Any] = {"train__per_device_batch_size": 5, **RECOMPUTED}
    two, five = (of_qwen((5, 512), memory__layer_slices=slices, **keys) for slices in (2, 5))
    whole = of_qwen((5, 512), **keys)
    for kind in whole:
        assert five[kind].backward < two[kind].backward < whole[kind].backward


def test_packs_take_about_what_plain_lines_do() -> None:
    plain, packs = of_qwen(), of_qwen(data__packing=True)
    assert all(packs[kind].kept == pytest.approx(plain[kind].kept, rel=0.05) for kind in plain)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"model__compile": True, **RECOMPUTED},
        {"model__compile": True, "memory__float8_training": True},
        {"train__gradient_checkpointing": "selective", "data__packing": True},
    ],
)
def test_a_large_batch_comes_out_as_if_it_were_traced(keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    told = of_qwen((3, 1920), **keys)

    def every_batch_traced(*args: Any, **kwargs: Any) -> Generator[None, None, SizesOfBatches]:
        return SizesOfBatches(*args, **kwargs)
        yield

    monkeypatch.setattr("engine.memory.estimate.layers.traced.sizes_of", every_batch_traced)
    traced = TracedLayers(qwen()).held(Recipe.of(way(**keys)), 3, 1920, 1)
    assert {kind: (one.kept, one.forward, one.backward) for kind, one in told.items()} == {
        kind: (one.kept, one.forward, one.backward) for kind, one in traced.items()
    }


def test_scores_of_attention_count_by_pairs_of_tokens() -> None:
    [short] = layer_bytes(build("llama", torch.bfloat16, "meta"), way(), 2, 512).values()
    [long] = layer_bytes(build("llama", torch.bfloat16, "meta"), way(), 2, 2048).values()
    assert long.kept / short.kept > 10  # eager attention; four times as many tokens


def test_layers_of_one_name_but_another_build_are_told_apart() -> None:
    model = build("moe", torch.bfloat16, "meta")
    assert list(layers_by_kind(model).values()) == [1, 1]
    dense, experts = layer_bytes(model, way(), 2, 256).values()
    assert experts.gradients != dense.gradients and experts.kept != dense.kept


def test_the_model_stays_as_it_is() -> None:
    model = build("qwen3_5", torch.bfloat16, "meta")
    before = {name: (type(module), vars(module).get("forward")) for name, module in model.named_modules()}
    config = model.config.to_dict()
    layer_bytes(model, way(train__gradient_checkpointing="selective", model__compile=True), 2, 256)
    assert {name: (type(module), vars(module).get("forward")) for name, module in model.named_modules()} == before
    assert model.config.to_dict() == config
    assert all(weight.grad is None for weight in model.parameters())


def test_a_model_without_a_list_of_layers_is_refused_in_one_sentence() -> None:
    model = build("llama", torch.bfloat16, "meta")
    model.config.num_hidden_layers = 3
    with pytest.raises(UserError, match=r"the memory of LlamaForCausalLM cannot be told: it has no list of its layers"):
        layers_by_kind(model)


def test_layers_that_look_at_numbers_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("llama", torch.bfloat16, "meta")

    def look(_module: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
        return hidden * float(hidden.mean())

    monkeypatch.setattr(type(model.model.layers[0].mlp), "forward", look)
    with pytest.raises(
        UserError, match=r"the layers of LlamaForCausalLM cannot be told without running them \(.*\)\.$"
    ):
        layer_bytes(model, way(), 2, 256)
