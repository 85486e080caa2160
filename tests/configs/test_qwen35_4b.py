"""The recipes for Qwen3.5-4B: they load, run, and say about their memory what the shapes say."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.cli import main
from engine.config import Config, load_config
from engine.config.not_yet import value_of
from engine.events import EventReader, Step
from engine.loss.chunked import TOKENS_WORTH_A_SUM
from engine.loss.passes import TILE_BYTES
from engine.model.architectures import shipped_folder
from engine.model.delta_rule.documents import CHUNK
from engine.model.recompute.by_shape import choose_by_shape
from engine.model.recompute.choice import choose
from engine.model.recompute.matmuls import Cost
from tests.bench.training.recipes import recipe_named

CONFIGS = Path(__file__).parents[2] / "configs"
FOLDER = CONFIGS / "qwen35_4b"
_SUM = re.compile(r"COMPUTED from the shapes and not measured, in GiB at the peak \([^)]*\): (.*?) = ([\d.]+)\.")
RECIPES = sorted(FOLDER.glob("*.yaml"))
GIB = 2**30
LION8_BYTES = 1 + 4 / 256
"""A byte of momentum a weight, and a float32 scale for each block of 256."""
RECOMPUTED_LAYER = 210_000
"""Bytes a token while one layer is recomputed and goes backward: 195,000 to 216,000 were seen on an H200."""
OFFLOADED_INPUTS_HERE = 3
"""Inputs of layers on the card with offload: the one that computes, and two on their way."""
STATES_AT_THE_HEAD = 3
"""The last hidden states, those of the tokens with loss (at most all), and the gradient of these."""
SIZES = ("data.max_seq_length", "train.per_device_batch_size", "train.gradient_checkpointing", "train.optimizer")
MIXERS = {"self_attn", "linear_attn"}
GPU_ALONE = ("--model.compile", "false", "--memory.float8_training", "false")
"""What a CPU cannot do, or not in the time of a test."""


@cache
def model() -> Any:
    folder = shipped_folder("Qwen/Qwen3.5-4B")
    assert folder is not None
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))


def kept_besides(how: str, *, compiles: bool) -> int:
    """Bytes a token: what the cores of the mixers return and, with `selective`, the products that a run chooses."""
    shape = model().config
    kept = 0
    for layer, kind in zip(model().model.layers, shape.layer_types, strict=True):
        if kind == "full_attention":
            kept += 2 * shape.num_attention_heads * shape.head_dim
        else:  # outputs, and for the backward pass a float32 sum and a row of the chunk's inverse for each head
            kept += shape.linear_num_value_heads * (2 * shape.linear_value_head_dim + 4 + 2 * CHUNK)
        if how == "mixers":
            continue
        costs = {
            name: Cost(flops=2 * weight.numel(), bytes=2 * weight.shape[0], calls=1)
            for name, weight in layer.named_parameters()
            if weight.ndim == 2 and name != "mlp.down_proj.weight"  # its product is not computed again
        }
        chosen = choose_by_shape(layer, costs) if compiles else choose(costs)
        kept += sum(costs[name].bytes for names in chosen for name in names.split(", "))
    return kept


def expected_gib(config: Config) -> dict[str, float]:
    """The parts of the largest of two peaks: while the loss is made, and in the backward pass of a layer.

    A tiled head's tiles come after both, when layer inputs and activations are gone: they make no peak.
    """
    shape, train, memory = model().config, config.train, config.memory
    tokens = train.per_device_batch_size * config.data.max_seq_length
    states = tokens * shape.hidden_size * 2
    trained = {
        name: p.numel()
        for name, p in model().named_parameters()
        if not train.freeze_non_attention or MIXERS & set(name.split("."))
    }
    head = 0 if train.freeze_non_attention else shape.vocab_size * shape.hidden_size
    parts = {
        "weights": 2 * sum(p.numel() for p in model().parameters()),
        "optimizer": LION8_BYTES * sum(trained.values()),
        "layer inputs": states * (OFFLOADED_INPUTS_HERE if memory.offload_activations else shape.num_hidden_layers),
    }
    if (how := train.gradient_checkpointing) in ("mixers", "selective"):
        parts[f"kept by {how}"] = tokens * kept_besides(how, compiles=config.model.compile)
    in_loss = {
        "loss": STATES_AT_THE_HEAD * states + bytes_of_loss(config, 0 if memory.tiled_head else head),
    }
    in_layer: dict[str, float] = {"one layer recomputed": RECOMPUTED_LAYER * tokens}
    if head and not memory.tiled_head:
        in_layer["gradient of the head"] = 2 * head
    if config.model.compile:  # a compiled layer hands out its gradients together
        in_layer["gradients of a layer"] = 2 * max(by_layer(trained).values())
    else:
        in_layer["gradients of a layer"] = 3 * 2 * max(n for name, n in trained.items() if ".layers." in name)
    if memory.float8_training:
        in_layer["float8 copies"] = (
            tokens + shape.intermediate_size
        ) * shape.hidden_size + tokens * shape.intermediate_size
    parts |= max(in_loss, in_layer, key=lambda some: sum(some.values()))
    return {name: value / GIB for name, value in parts.items()}


def bytes_of_loss(config: Config, head: int) -> int:
    """The logits of a chunk in float32 and bfloat16, and the gradient of a head of so many weights: engine/loss."""
    logits = 6 * config.memory.loss_chunk_tokens * model().config.vocab_size
    if config.memory.loss_chunk_tokens < TOKENS_WORTH_A_SUM:
        return max(logits, 2 * head + TILE_BYTES if head else 0)
    return max(logits + 4 * head, 6 * head)  # a float32 sum, then a bfloat16 copy beside it


def by_layer(weights: dict[str, int]) -> Counter[str]:
    """Summed up by the layer, of what is in one."""
    total: Counter[str] = Counter()
    for name, count in weights.items():
        if name.startswith("model.layers."):
            total[name.split(".")[2]] += count
    return total


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


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_what_offload_would_save_is_what_the_shapes_give(path: Path) -> None:
    told = re.search(r"# offload_activations: true +# .*: ([\d.]+) GiB less on the card", path.read_text())
    assert told is not None, f"{path.name} does not say what offload gives"
    without, with_it = (
        sum(expected_gib(load_config(path, [f"--memory.offload_activations={value}"]).config).values())
        for value in ("false", "true")
    )
    assert float(told[1]) == pytest.approx(without - with_it, abs=0.06)


@pytest.mark.parametrize(("stem", "row"), [("h100_80gb", "h100_80gb"), ("card_16gb", "all_2x2048_tiled")])
def test_the_bench_measures_what_the_recipe_says(stem: str, row: str) -> None:
    config = load_config(FOLDER / f"{stem}.yaml").config
    measured = recipe_named(row).settings
    keys = [key for key in measured if key.startswith(("memory.", "model.")) or key in SIZES]
    assert len(keys) >= 8
    assert {key: value_of(config, key) for key in keys} == {key: measured[key] for key in keys} | {
        "model.init": "pretrained"  # neither speed nor memory depends on the values of weights
    }


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
    assert main(["train", "--config", str(path), *small, *short, *place, *GPU_ALONE]) == 0
    [run] = (tmp_path / "runs").iterdir()
    steps = [stamped.event for stamped in EventReader(run / "events.jsonl").poll().events]
    assert [event.step for event in steps if isinstance(event, Step)] == [1, 2]
    assert (run / "final" / "config.json").is_file()
