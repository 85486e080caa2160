"""A small model of Qwen3.5's kind with heads as wide as the kernels take, rows of tokens, and a config over both."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from tests.train.stack import SHAPE as STACK_SHAPE
from tests.train.stack import small_model

from .machine import DEVICE, DTYPE

SHAPE: dict[str, Any] = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 128,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
}
LLAMA: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 2, "head_dim": 128}
VOCABULARY: int = STACK_SHAPE["vocab_size"]
LENGTHS = (33, 64, 100, 129, 17, 250, 80, 3)
IDS = range(10, 60)
"""Few different tokens, so that a model learns within some steps which ones there are."""


def hybrid_model(dtype: torch.dtype = DTYPE, **changes: Any) -> Any:
    """Gated DeltaNet and attention on the device of the tests, always the same weights, without our operators."""
    from transformers import AutoConfig, AutoModelForCausalLM

    shape = STACK_SHAPE | SHAPE | changes
    config = AutoConfig.for_model("qwen3_5_text", **shape, tie_word_embeddings=True)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return model.to(DEVICE).train()


def write_config(folder: Path, family: str = "hybrid", lengths: Sequence[int] = LENGTHS, **changes: Any) -> Path:
    """A model's folder, rows of these lengths, over and over, and a config that trains on them for six steps."""
    model = small_model(folder, family, **(SHAPE if family == "hybrid" else LLAMA) | changes)
    generator = random.Random(0)
    rows = [
        {"input_ids": [generator.choice(IDS) for _ in range(length)]} for length in [*lengths] * (64 // len(lengths))
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {
        "model": {"name_or_path": str(model), "init": "random"},
        "data": {"dataset": str(folder / "rows.jsonl"), "max_seq_length": max(lengths)},
        "train": {
            "output_dir": str(folder / "runs"),
            "max_steps": 6,
            "per_device_batch_size": 2,
            "learning_rate": 1.0e-3,
            "optimizer": "lion8bit",
            "warmup_steps": 0,
            "logging_steps": 1,
        },
    }
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(config))
    return path
