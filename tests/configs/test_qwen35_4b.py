"""The recipes for Qwen3.5-4B: they load, run, and say about their memory what the shapes say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.cli import main
from engine.config import Config, load_config
from engine.events import EventReader, Step
from engine.model.architectures import shipped_folder
from engine.model.delta_rule.documents import CHUNK
from engine.model.recompute.matmuls import Cost
from engine.model.recompute.select import choose

CONFIGS = Path(__file__).parents[2] / "configs"
FOLDER = CONFIGS / "qwen35_4b"
_SUM = re.compile(r"COMPUTED from the shapes and not measured, in GiB at the peak \([^)]*\): (.*?) = ([\d.]+)\.")
RECIPES = sorted(FOLDER.glob("*.yaml"))
GIB = 2**30
LION8_BYTES = 1 + 4 / 256
"""A byte of momentum a weight, and a float32 scale for each block of 256."""
RECOMPUTED_LAYER = 115_000
"""Bytes a token while one layer is recomputed and goes backward."""
MIXERS = {"self_attn", "linear_attn"}


@cache
def model() -> Any:
    folder = shipped_folder("Qwen/Qwen3.5-4B")
    assert folder is not None
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))


def kept_by_selective() -> int:
    """Bytes a token: what the cores of the mixers return, and the matrix products that `choose` keeps."""
    shape = model().config
    kept = 0
    for layer, kind in zip(model().model.layers, shape.layer_types, strict=True):
        if kind == "full_attention":
            kept += 2 * shape.num_attention_heads * shape.head_dim
        else:  # outputs, and for the backward pass a float32 sum and a row of the chunk's inverse for each head
            kept += shape.linear_num_value_heads * (2 * shape.linear_value_head_dim + 4 + 2 * CHUNK)
        costs = {
            name: Cost(flops=2 * weight.numel(), bytes=2 * weight.shape[0], calls=1)
            for name, weight in layer.named_parameters()
            if weight.ndim == 2 and name != "mlp.down_proj.weight"  # its product is not computed again
        }
        kept += sum(costs[name].bytes for name in choose(costs))
    return kept


def expected_gib(config: Config) -> dict[str, float]:
    """The parts of the larger one of two peaks: while the loss is made, and in the backward pass of a layer."""
    shape, train = model().config, config.train
    tokens = train.per_device_batch_size * config.data.max_seq_length
    trained = {
        name: p
        for name, p in model().named_parameters()
        if not train.freeze_non_attention or MIXERS & set(name.split("."))
    }
    head = 0 if train.freeze_non_attention else shape.vocab_size * shape.hidden_size
    largest = max(p.numel() for name, p in trained.items() if name.startswith("model.layers."))
    parts = {
        "weights": 2 * sum(p.numel() for p in model().parameters()),
        "optimizer": LION8_BYTES * sum(p.numel() for p in trained.values()),
        "layer inputs": tokens * shape.hidden_size * 2 * shape.num_hidden_layers,
    }
    if train.gradient_checkpointing == "selective":
        parts["kept by selective"] = tokens * kept_by_selective()
    logits = 6 * config.memory.loss_chunk_tokens * shape.vocab_size
    in_loss = max(logits + 4 * head, 6 * head)  # a float32 sum, then a bfloat16 copy beside it: engine/loss.py
    in_layer = {"one layer recomputed": RECOMPUTED_LAYER * tokens}
    if head:
        in_layer["gradient of the head"] = 2 * head
    in_layer["gradient of a layer"] = 3 * 2 * largest
    if in_loss > sum(in_layer.values()):
        parts["gradient of the head"] = in_loss
    else:
        parts |= in_layer
    return {name: value / GIB for name, value in parts.items()}


def told_gib(path: Path) -> tuple[dict[str, float], float]:
    head = " ".join(line.removeprefix("#").strip() for line in path.read_text().split("\n\n")[0].splitlines())
    told = _SUM.search(head)
    assert told is not None, f"{path.name} says nothing of its memory"
    parts = [part.rpartition(" ") for part in told[1].split(" + ")]
    return {name: float(value) for name, _, value in parts}, float(told[2])


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_memory_in_the_head_is_what_the_shapes_give(path: Path) -> None:
    expected = expected_gib(load_config(path).config)
    parts, total = told_gib(path)
    assert parts == {name: pytest.approx(value, abs=0.006) for name, value in expected.items()}
    assert total == pytest.approx(sum(expected.values()), abs=0.06)


def test_the_recipes_are_those_that_are_promised() -> None:
    assert [path.stem for path in RECIPES] == ["a100_40gb", "a100_80gb", "b200", "card_16gb", "h100_80gb"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_moves_bfloat16_weights_by_small_steps_in_little_memory(path: Path) -> None:
    config = load_config(path).config
    assert (config.train.optimizer, config.train.learning_rate) == ("lion8bit", 3e-6)
    assert config.train.stochastic_rounding and config.memory.gradient_release
    assert config.train.max_grad_norm is None and config.model.torch_dtype == "bfloat16"
    head = path.read_text().split("\n\n")[0]
    for said in ("--model.init random", "Trains ", f"pgs-tui configs/qwen35_4b/{path.name}", "model.name_or_path"):
        assert said in head


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_trains_on_a_small_model_of_the_same_family(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    small = ["--model.name_or_path", str(CONFIGS / "quickstart" / "model"), "--model.init", "random"]
    short = ["--data.max_seq_length", "64", "--data.eval_samples", "2", "--train.max_steps", "2"]
    place = ["--train.output_dir", str(tmp_path / "runs")]
    assert main(["train", "--config", str(path), *small, *short, *place]) == 0
    [run] = (tmp_path / "runs").iterdir()
    steps = [stamped.event for stamped in EventReader(run / "events.jsonl").poll().events]
    assert [event.step for event in steps if isinstance(event, Step)] == [1, 2]
    assert (run / "final" / "config.json").is_file()
