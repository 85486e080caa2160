"""A run on a model with a vision tower: what it saves holds the tower, goes on exactly, and can be trained again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.checkpoint.original import find_original
from engine.events import Checkpoint

from .conftest import QUICKSTART, Outcome


@pytest.fixture
def vision_model(tmp_path: Path) -> Path:
    """A tiny Qwen3.5 with a vision tower and a layer for multi-token prediction, in several files."""
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    text: dict[str, Any] = {
        "vocab_size": 3072,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "tie_word_embeddings": True,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e4,
            "partial_rotary_factor": 0.25,
            "mrope_interleaved": True,
            "mrope_section": [1, 1, 0],
        },
    }
    vision = {"depth": 1, "hidden_size": 16, "intermediate_size": 24, "num_heads": 2, "out_hidden_size": 32}
    config = Qwen3_5Config(text_config=text, vision_config=vision, tie_word_embeddings=True)
    folder = tmp_path / "vision"
    Qwen3_5ForConditionalGeneration(config).to(torch.bfloat16).save_pretrained(folder, max_shard_size="200KB")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    file = sorted(set(index["weight_map"].values()))[-1]
    save_file({**load_file(folder / file), "mtp.norm.weight": torch.ones(32).bfloat16()}, folder / file)
    index["weight_map"]["mtp.norm.weight"] = file
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(QUICKSTART / "model" / name, folder / name)
    (folder / "preprocessor_config.json").write_text("{}")
    return folder


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return {key: value for file in folder.glob("*.safetensors") for key, value in load_file(file).items()}


def test_a_trained_model_keeps_what_was_not_trained_also_after_a_resume(
    train: Callable[..., Outcome], vision_model: Path
) -> None:
    keys = ("--model.name_or_path", vision_model, "--model.init", "pretrained", "--train.max_steps")
    rest = ("--train.save_steps", "2", "--train.keep_checkpoints", "1", "--train.spike_detection", "false")
    whole = train(*keys, "6", *rest)
    assert whole.code == 0, whole.end
    before, after = tensors(vision_model), tensors(whole.run.final)
    assert before.keys() == after.keys()
    extra = [key for key in before if key.startswith(("model.visual.", "mtp."))]
    assert all(torch.equal(before[key], after[key]) for key in extra)
    trained = "model.language_model.embed_tokens.weight"
    assert not torch.equal(before[trained].to(after[trained].dtype), after[trained])
    assert (whole.run.final / "preprocessor_config.json").is_file()
    assert json.loads((whole.run.final / "config.json").read_text())["architectures"] == [
        "Qwen3_5ForConditionalGeneration"
    ]

    part = train(*keys, "6", *rest, "--train.resume_from", checkpoint_of_step_4(train, keys, rest))
    assert part.code == 0, part.end
    continued = tensors(part.run.final)
    assert all(torch.equal(value, continued[key]) for key, value in after.items())
    saved = part.of(Checkpoint)[-1]
    assert saved.bytes > sum(value.nbytes for value in continued.values())


def checkpoint_of_step_4(train: Callable[..., Outcome], keys: tuple[Any, ...], rest: tuple[Any, ...]) -> Path:
    """The checkpoint that a run of six steps has taken at its fourth."""
    run = train(*keys, "6", *rest, "--train.keep_checkpoints", "9").run
    return run.checkpoints / "step-4"


def test_random_weights_are_saved_as_a_model_of_their_own(train: Callable[..., Outcome], vision_model: Path) -> None:
    done = train("--model.name_or_path", vision_model, "--train.max_steps", "2")
    assert done.code == 0
    assert not any(key.startswith(("model.visual.", "mtp.")) for key in tensors(done.run.final))


def test_an_original_that_is_written_over_during_the_run_costs_only_what_was_not_trained(
    train: Callable[..., Outcome], vision_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found_then_written_over(folder: Path, model: Any) -> Any:
        original = find_original(folder, model)
        file = sorted(folder.glob("*.safetensors"))[0]
        file.write_bytes(file.read_bytes() + b" ")
        return original

    monkeypatch.setattr("engine.train.assemble.find_original", found_then_written_over)
    done = train("--model.name_or_path", vision_model, "--model.init", "pretrained", "--train.max_steps", "2")
    assert done.code == 0
    said = done.run.console_log.read_text()
    assert "has been changed since the model was loaded" in said and "that this run does not load" in said
    names = set(tensors(done.run.final))
    assert any(name.endswith("embed_tokens.weight") for name in names)
    assert not any(key.startswith(("model.visual.", "mtp.")) for key in names)
