"""What a measurement trains: the user's config on rows that fill its longest batch, without anything that is kept."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.config import Config, dump_config
from engine.model.hub import is_local

_ENOUGH_STEPS = 10_000
"""More than a measurement takes, so that its end, which would save a model, never comes."""
_DIFFERENT_BATCHES = 2
_FIRST_TOKEN, _LAST_TOKEN = 10, 200
"""Ids between the special tokens and the end of any model's vocabulary."""
_WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin.index.json")


@dataclass(frozen=True, slots=True)
class Workload:
    """A config file to train, and what differs from the user's own in it, as sentences."""

    config: Path
    notes: tuple[str, ...]


def write_workload(config: Config, folder: Path) -> Workload:
    """Put config and rows into the folder.

    Every row has exactly `data.max_seq_length` random tokens: a step then is the longest that the config allows, which
    two steps of the user's own rows need not meet. Weights that are not on this machine are random, not downloaded.
    """
    rows = folder / "rows.jsonl"
    with rows.open("w", encoding="utf-8") as file:
        for tokens in _token_rows(config):
            file.write(json.dumps({"input_ids": tokens}) + "\n")
    notes = [f"the rows are random tokens, each of the full {config.data.max_seq_length:,}"]
    if config.model.init == "pretrained" and not _has_weights_here(config.model.name_or_path):
        config = config.model_copy(update={"model": config.model.model_copy(update={"init": "random"})})
        notes.append("the weights are random, since the model's own are not on this machine")
    path = folder / "measured.yaml"
    path.write_text(dump_config(_without_what_is_kept(config, rows, folder)), encoding="utf-8")
    return Workload(path, tuple(notes))


def _without_what_is_kept(config: Config, rows: Path, folder: Path) -> Config:
    data = {
        "dataset": (str(rows),),
        "dataset_split": "train",
        "sources": (),
        "eval_dataset": None,
        "eval_split": None,
        "eval_samples": None,
        "eval_every": None,
    }
    train = {
        "output_dir": str(folder / "runs"),
        "max_steps": _ENOUGH_STEPS,
        "warmup_ratio": None,
        "warmup_steps": 0,
        "spike_detection": False,
        "save_steps": None,
        "resume_from": None,
        "logging_steps": 1,
    }
    return config.model_copy(
        update={
            "data": config.data.model_copy(update=data),
            "train": config.train.model_copy(update=train),
            "logging": config.logging.model_copy(update={"trackers": ()}),
        }
    )


def _token_rows(config: Config) -> Iterator[list[int]]:
    train = config.train
    draw = random.Random(train.seed)
    in_a_step = train.per_device_batch_size * train.gradient_accumulation_steps
    for _ in range(in_a_step * _DIFFERENT_BATCHES):
        yield draw.choices(range(_FIRST_TOKEN, _LAST_TOKEN), k=config.data.max_seq_length)


def _has_weights_here(name: str) -> bool:
    """Whether loading the model's weights takes no download."""
    if is_local(name):
        return True
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(name, file), str) for file in _WEIGHT_FILES)
