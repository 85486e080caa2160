"""A written config loads again to the same config."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from engine.config import Config, dump_config, load_config
from engine.config.kinds import Kind, kinds
from engine.config.not_yet import AVAILABLE_NOW
from engine.config.schema import SECTIONS, Source
from tests.config.conftest import Load

NASTY_TEXTS = (
    "no", "1e-5", "null", "None", "~", "a: b", "#x", "'", '"', "é 漢", "two\nlines", " x ", "-", "[a]", "{a}", "*a",
    "!t", "&a", "1:30", "0x1f", "2024-01-01", "%", "@a", "a\\b", "\t", "true", ".inf", "010", "<<", "x" * 300, "a #b",
    "y", "=",
)  # fmt: skip


def random_value(kind: Kind, rng: random.Random) -> object:
    if kind.nullable and rng.random() < 0.3:
        return None
    if kind.choices:
        return rng.choice(kind.choices)
    if kind.boolean:
        return rng.random() < 0.5
    if kind.whole:
        return int(kind.bounds.least or 0) + rng.choice([0, 1, 7, 10**6])
    if kind.number:
        top = kind.bounds.most or kind.bounds.below or 50.0
        return rng.choice([top / 2, top * rng.random() or top / 3, 1e-5, 3e-7, 0.1])
    if kind.item and kind.item.section:
        return tuple(random_source(rng) for _ in range(rng.randint(1, 3)))
    if kind.item and kind.length:
        return tuple(rng.random() for _ in range(kind.length))
    if kind.item:
        return tuple(f"/data/{rng.choice(NASTY_TEXTS)}" for _ in range(rng.randint(1, 3)))
    return rng.choice(NASTY_TEXTS)


def random_source(rng: random.Random) -> Source:
    split, weight = rng.choice(NASTY_TEXTS), rng.choice([1.0, 0.5, 3.0])
    return Source(path=f"/data/{rng.choice(NASTY_TEXTS)}", split=split, weight=weight)


def random_config(rng: random.Random) -> Config:
    sections: dict[str, dict[str, object]] = {name: {} for name in SECTIONS}
    for key, kind in kinds().items():
        section, _, name = key.partition(".")
        if key not in AVAILABLE_NOW and rng.random() < 0.7:
            sections[section][name] = random_value(kind, rng)
    sections["model"]["name_or_path"] = rng.choice(["org/model", "/models/a b", *("/" + text for text in NASTY_TEXTS)])
    sections["data"]["dataset"] = random_value(kinds()["data.dataset"], rng)
    sections["data"].pop(rng.choice(["dataset", "sources"]) if sections["data"].get("sources") else "sources", None)
    sections["train"].pop(rng.choice(["warmup_ratio", "warmup_steps"]), None)
    splits = (None, 0.1, 0.5, 1e-4, "test", "no") if sections["data"].get("eval_dataset") is None else (None,)
    sections["data"]["eval_split"] = rng.choice(splits)
    train = sections["train"]
    train["resume_from"] = rng.choice([None, "auto", "/runs/a"])
    train["output_dir"] = "runs/" + rng.choice(NASTY_TEXTS)
    train["min_learning_rate"] = 0.0
    train.pop("max_steps", None)
    if train.get("gradient_checkpointing", "none") == "none":
        sections["memory"].pop("offload_activations", None)
        sections["memory"].pop("layer_slices", None)
    if sections["memory"].get("layer_slices", 1) > train.get("per_device_batch_size", 1):
        train["per_device_batch_size"] = sections["memory"]["layer_slices"]
    if sections["memory"].get("gradient_release"):
        train["max_grad_norm"], train["gradient_accumulation_steps"] = None, 1
    if not sections["memory"].get("gradient_release") or not sections["memory"].get("chunked_loss", True):
        sections["memory"].pop("tiled_head", None)
    if train.get("lr_scheduler") == "wsd":
        train.pop("warmup_ratio", None)
        train["wsd_decay_ratio"] = 0.5
    if sections["model"].get("torch_dtype") == "float32":
        sections["model"]["attn_implementation"] = "auto"
        sections["memory"]["float8_training"] = False
    return Config.model_validate({name: SECTIONS[name](**values) for name, values in sections.items()})


@pytest.mark.parametrize("seed", range(60))
def test_a_written_config_loads_again_to_the_same(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        config = random_config(rng)
        Path("again.yaml").write_text(dump_config(config))
        assert load_config("again.yaml", check_files=False).config == config


def test_a_loaded_config_loads_again_from_anywhere(load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load("max_grad_norm: .inf\nlearning_rate: 3e-6").config
    (folder / "run").mkdir()
    (folder / "run" / "config.yaml").write_text(dump_config(config))
    monkeypatch.chdir("/")
    assert load_config(folder / "run" / "config.yaml").config == config


def test_every_key_is_written_out(load: Load) -> None:
    written = yaml.safe_load(dump_config(load().config))
    assert [f"{section}.{key}" for section, keys in written.items() for key in keys] == list(kinds())


def test_another_yaml_reader_sees_the_same_numbers(load: Load) -> None:
    written = yaml.safe_load(dump_config(load("learning_rate: 1e-5\nepochs: 3.0").config))
    assert (written["train"]["learning_rate"], written["train"]["epochs"]) == (1e-5, 3)
    assert isinstance(written["train"]["epochs"], int)


def test_no_clipping_is_shown_as_such(load: Load) -> None:
    assert "  max_grad_norm: null  # no clipping\n" in dump_config(load("max_grad_norm: .inf").config)
