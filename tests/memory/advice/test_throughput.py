"""What is said of speed, held against what was measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.memory.advice.throughput import UNCOMPILED_LOSS, throughput
from engine.model.flops import Products, products_of
from engine.model.freeze import freeze_non_attention
from tests.bench.training.recipes import config_of
from tests.bench.training.workload import shape_of

PERFORMANCE = Path(__file__).parents[3] / "docs" / "performance"
ROWS = [row for row in json.loads((PERFORMANCE / "h200.json").read_text())["rows"] if row.get("tok_s")]
NEARLY = 0.15


@dataclass(frozen=True)
class Card:
    name: str = "NVIDIA H200"
    bf16_tflops: float = 989.0


@cache
def products(frozen: bool) -> Products:
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**shape_of("qwen3_5_4b")))
    if frozen:
        freeze_non_attention(model)
    return products_of(model)


def speed(settings: dict[str, Any], card: Card = Card()) -> float:
    config = config_of(settings)
    return throughput(products(config.train.freeze_non_attention), config, 4_200_000_000, card).tok_s


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['name']} {row['label'] or ''}")
def test_speed_is_near_every_row_that_was_measured(row: dict[str, Any]) -> None:
    assert speed(row["settings"]) == pytest.approx(row["tok_s"], rel=NEARLY)


SOME = {"data.max_seq_length": 2048, "train.optimizer": "lion8bit", "model.compile": True}


def test_a_slower_card_is_slower_by_its_rate_once_the_host_keeps_up() -> None:
    large = SOME | {"train.per_device_batch_size": 32}
    assert speed(large, Card("half", 494.5)) == pytest.approx(speed(large) / 2, rel=0.01)
    small = SOME | {"train.per_device_batch_size": 1}
    assert speed(small, Card("half", 494.5)) > 0.7 * speed(small)


def test_layers_as_they_are_take_as_much_longer_as_measured() -> None:
    ways = {(w["way"], w["layer"]): w["ms"] for w in json.loads((PERFORMANCE / "layers.json").read_text())["rows"]}
    of_model = {way: 24 * ways[way, "linear_attention"] + 8 * ways[way, "full_attention"] for way, _ in ways}
    assert of_model["as it is"] / of_model["compiled"] == pytest.approx(UNCOMPILED_LOSS, rel=0.02)


def test_an_optimizer_without_a_kernel_costs_time_in_each_step() -> None:
    assert speed(SOME | {"train.optimizer": "adamw8bit"}) < 0.5 * speed(SOME)


def test_it_says_what_it_rests_on() -> None:
    config = config_of({"train.optimizer": "adamw8bit", "data.max_seq_length": 512})
    said = " ".join(throughput(products(False), config, 4_200_000_000, Card()).assumptions)
    assert "NVIDIA H200" in said and "waits for the host" in said and "compiled" in said and "adamw8bit" in said
