"""Configs of models that train in milliseconds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from engine.config import Config, load_config

PROJECT = Path(__file__).parents[2]
QUICKSTART = PROJECT / "configs" / "quickstart"
SHAPE: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 3072,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "tie_word_embeddings": True,
    "eos_token_id": 2,
    "pad_token_id": 3,
}
TRAINED = 3072 * 32 + 2 * (2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48 + 2 * 8 + 2 * 32) + 32
"""Weights of that shape: the embedding, which is the head, two layers, and the last norm."""


def small_config(folder: Path, *overrides: object) -> Config:
    """A config over the tiny model and the quickstart's chats, with `--section.key value` over it."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(QUICKSTART / "model" / name, model / name)
    (model / "config.json").write_text(json.dumps(SHAPE))
    settings = {
        "model": {"name_or_path": str(model), "init": "random"},
        "data": {"dataset": str(QUICKSTART / "train.jsonl"), "eval_split": 0.1, "max_seq_length": 48},
        "train": {"per_device_batch_size": 2, "optimizer": "adamw", "save_steps": 1, "warmup_steps": 5},
    }
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(settings))
    return load_config(path, [str(one) for one in overrides]).config
