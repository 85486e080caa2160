"""Small models of two kinds in configs, for the command that people type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.data.conftest import chat, write_rows
from tests.profile.small_config import SHAPE

ROWS = 10
LAYERS_OF_1_GIB = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 8, "head_dim": 128}
"""Wide enough for figures that are seen in GiB; no number of it is ever made."""


def write_config(folder: Path, **sections: dict[str, Any]) -> Path:
    """A config over a model without weights and a few rows, for a GPU."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps(SHAPE | LAYERS_OF_1_GIB))
    write_rows(folder / "chats.jsonl", *(chat("Who is there?", "It is me.") for _ in range(ROWS)))
    settings: dict[str, dict[str, Any]] = {
        "model": {"name_or_path": str(model), "torch_dtype": "bfloat16"},
        "data": {"dataset": str(folder / "chats.jsonl"), "max_seq_length": 1024},
        "train": {"per_device_batch_size": 4, "optimizer": "lion8bit", "epochs": 2},
    }
    for name, keys in sections.items():
        settings.setdefault(name, {}).update(keys)
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path
