"""What a run works on: a model of a shape with random weights, rows of exactly its length, and a config over both."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from engine.model.architectures import shipped_folder
from tests.bench.training.recipes import Recipe

PROJECT = Path(__file__).parents[3]
QUICKSTART_MODEL = PROJECT / "configs" / "quickstart" / "model"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
QWEN3_5_4B = "qwen3_5_4b"
TINY: dict[str, Any] = {
    "vocab_size": 4096,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "max_position_embeddings": 4096,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 1e4,
        "partial_rotary_factor": 0.5,
        "mrope_interleaved": True,
        "mrope_section": [2, 1, 1],
    },
}
"""Of the same kind, small enough for a CPU: for trying the scripts themselves."""
SHAPES = (QWEN3_5_4B, "tiny")
DIFFERENT_STEPS = 4
"""Batches of different rows; a run goes over them again and again."""
ROWS_SEED = 20_260
FIRST_PLAIN_TOKEN = 10
"""Below it are the tokenizer's special tokens."""


def shape_of(name: str) -> dict[str, Any]:
    """The `config.json` of that shape."""
    shipped = shipped_folder("Qwen/Qwen3.5-4B")
    assert shipped is not None
    config: dict[str, Any] = json.loads((shipped / "config.json").read_text())
    return config | ({} if name == QWEN3_5_4B else TINY) | {"eos_token_id": 2, "pad_token_id": 3}


def fitting(recipe: Recipe, shape: str) -> Recipe:
    """The recipe as it is, or for the tiny shape with short rows and on the whole machine."""
    if shape == QWEN3_5_4B:
        return recipe
    short = {"data.max_seq_length": 64, "memory.loss_chunk_tokens": 32}
    return recipe.with_keys(short)


def token_rows(rows: int, length: int) -> Iterator[list[int]]:
    """`length` token ids each, drawn evenly from the quickstart's tokenizer; every token but the first has loss.

    Enough for a few batches of `rows` rows.
    """
    vocabulary = len(json.loads((QUICKSTART_MODEL / "tokenizer.json").read_text())["model"]["vocab"])
    draw = random.Random(ROWS_SEED)
    for _ in range(rows * DIFFERENT_STEPS):
        yield draw.choices(range(FIRST_PLAIN_TOKEN, vocabulary), k=length)


def write_model(folder: Path, shape: str) -> Path:
    """A model's folder without weights: shape and tokenizer."""
    model = folder / "model"
    model.mkdir(parents=True)
    for name in TOKENIZER_FILES:
        shutil.copy(QUICKSTART_MODEL / name, model / name)
    (model / "config.json").write_text(json.dumps(shape_of(shape)))
    return model


def write_rows(folder: Path, recipe: Recipe) -> Path:
    path = folder / "rows.jsonl"
    rows = token_rows(recipe.rows, recipe.length)
    path.write_text("".join(json.dumps({"input_ids": row}) + "\n" for row in rows))
    return path


def write_workload(folder: Path, recipe: Recipe, shape: str, steps: int) -> Path:
    """Everything that the run needs, in `folder`; returns the path of its config."""
    settings: dict[str, object] = {
        "model.name_or_path": str(write_model(folder, shape)),
        "data.dataset": str(write_rows(folder, recipe)),
        "train.output_dir": str(folder / "runs"),
        "train.max_steps": steps,
        **recipe.settings,
    }
    path = folder / f"{recipe.name}.yaml"
    path.write_text(yaml.safe_dump(nested(settings), sort_keys=False))
    return path


def nested(settings: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """`{"train.seed": 0}` -> `{"train": {"seed": 0}}`."""
    sections: dict[str, dict[str, object]] = {}
    for key, value in settings.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = value
    return sections


def read_keys(texts: Sequence[str]) -> dict[str, object]:
    """`["model.compile=false"]` -> `{"model.compile": False}`, each value read as YAML. Raises SystemExit."""
    keys: dict[str, object] = {}
    for text in texts:
        key, is_given, value = text.partition("=")
        if not is_given or key.count(".") != 1:
            raise SystemExit(f"--set {text}: write SECTION.KEY=VALUE")
        keys[key] = yaml.safe_load(value)
    return keys
