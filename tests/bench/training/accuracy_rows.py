"""The configurations whose memory is estimated and measured: what changes memory, over two families of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from engine.config import Config, load_config
from tests.bench.training.recipes import COMMON, EXPANDABLE, MIXERS
from tests.bench.training.workload import QUICKSTART_MODEL, nested, write_model

HYBRID, DENSE = "Qwen/Qwen3.5-4B", "meta-llama/Llama-3.2-3B"
"""Three of four layers with the gated delta rule, and attention alone."""
TINY = "tiny"
TINY_KEYS: dict[str, object] = {"data.max_seq_length": 64, "memory.loss_chunk_tokens": 32, "model.compile": False}


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One configuration: a step has `lines` lines of `length` tokens, random weights, the keys over `COMMON`."""

    name: str
    model: str
    lines: int
    length: int
    keys: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        return {
            **COMMON,
            "model.name_or_path": self.model,
            "data.max_seq_length": self.length,
            "train.per_device_batch_size": self.lines,
            **self.keys,
        }


def checkpointing(how: str) -> dict[str, object]:
    return {"train.gradient_checkpointing": how}


EAGER: dict[str, object] = {"model.compile": False}
TILED: dict[str, object] = {"memory.tiled_head": True}
OFFLOAD: dict[str, object] = {"memory.offload_activations": True}
FLOAT8: dict[str, object] = {"memory.float8_training": True}
LARGE_CHUNK: dict[str, object] = {"memory.loss_chunk_tokens": 4096}
UNRELEASED: dict[str, object] = {"memory.gradient_release": False, "train.max_grad_norm": 1.0}


def slices(count: int) -> dict[str, object]:
    return {"memory.layer_slices": count}


ROWS: tuple[AccuracyRow, ...] = (
    AccuracyRow("hybrid_4x4096_none", HYBRID, 4, 4096, {**checkpointing("none"), **LARGE_CHUNK}),
    AccuracyRow("hybrid_2x2048_full", HYBRID, 2, 2048),
    AccuracyRow("hybrid_2x2048_full_tiled", HYBRID, 2, 2048, TILED, EXPANDABLE),
    AccuracyRow("hybrid_2x2048_full_eager", HYBRID, 2, 2048, {**TILED, **EAGER}),
    AccuracyRow("hybrid_2x2048_mixers_alone", HYBRID, 2, 2048, {**MIXERS, **OFFLOAD}),
    AccuracyRow("hybrid_2x2048_mixers_alone_none", HYBRID, 2, 2048, {**MIXERS, **checkpointing("none")}),
    AccuracyRow("hybrid_4x4096_full_slices", HYBRID, 4, 4096, {**TILED, **slices(4)}),
    AccuracyRow("hybrid_4x4096_full_offload", HYBRID, 4, 4096, {**TILED, **OFFLOAD, **slices(2)}),
    AccuracyRow("hybrid_4x4096_selective", HYBRID, 4, 4096, checkpointing("selective")),
    AccuracyRow("hybrid_4x4096_fp8", HYBRID, 4, 4096, {**checkpointing("mixers"), **FLOAT8, **LARGE_CHUNK}),
    AccuracyRow(
        "hybrid_2x1024_adamw8bit",
        HYBRID,
        2,
        1024,
        {**UNRELEASED, "train.optimizer": "adamw8bit", "train.gradient_accumulation_steps": 2},
    ),
    AccuracyRow("dense_4x4096_none", DENSE, 4, 4096, {**checkpointing("none"), **LARGE_CHUNK}),
    AccuracyRow("dense_2x2048_full", DENSE, 2, 2048),
    AccuracyRow("dense_2x2048_full_tiled", DENSE, 2, 2048, TILED),
    AccuracyRow("dense_2x2048_full_eager", DENSE, 2, 2048, {**TILED, **EAGER}),
    AccuracyRow("dense_4x4096_full_slices", DENSE, 4, 4096, {**TILED, **slices(4)}),
    AccuracyRow("dense_1x8192_selective", DENSE, 1, 8192, {**TILED, **checkpointing("selective")}),
    AccuracyRow("dense_2x2048_mixers_alone", DENSE, 2, 2048, {**MIXERS, **checkpointing("none")}),
    AccuracyRow("dense_2x1024_adamw", DENSE, 2, 1024, {**UNRELEASED, "train.optimizer": "adamw"}),
    AccuracyRow("dense_1x2048_whole_logits", DENSE, 1, 2048, {**UNRELEASED, **EAGER, "memory.chunked_loss": False}),
)
"""Those that take longest to start come first in each family."""


def rows_named(names: str) -> tuple[AccuracyRow, ...]:
    """`all`, or names with commas between. Raises SystemExit with the names that there are."""
    if names == "all":
        return ROWS
    by_name = {row.name: row for row in ROWS}
    if unknown := [name for name in names.split(",") if name not in by_name]:
        raise SystemExit(f"no row {', '.join(unknown)}; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in names.split(","))


def config_of(row: AccuracyRow, folder: Path, shape: str) -> Config:
    """The row's config; of the tiny shape with short lines, for trying this on a CPU."""
    settings = row.settings
    if shape == TINY:
        settings = {**settings, **TINY_KEYS, "model.name_or_path": str(_tiny_model(folder))}
        settings["memory.float8_training"] = False
    settings["data.dataset"] = str(QUICKSTART_MODEL.parent / "train.jsonl")
    path = folder / f"{row.name}.yaml"
    path.write_text(yaml.safe_dump(nested(settings), sort_keys=False))
    return load_config(path, []).config


def _tiny_model(folder: Path) -> Path:
    model = folder / "model"
    return model if model.exists() else write_model(folder, TINY)
