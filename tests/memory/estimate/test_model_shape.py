"""The shape of a model: where it is found, and that no weight is there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from engine.config import Config, load_config
from engine.errors import UserError
from engine.memory.estimate.model_shape import model_shape

CONFIGS = Path(__file__).parents[3] / "configs"
AUTO = ("--model.torch_dtype", "auto")


def config_of(name: str | Path, *flags: str) -> Config:
    return load_config(CONFIGS / "quickstart.yaml", ["--model.name_or_path", str(name), *AUTO, *flags]).config


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("Qwen/Qwen3.5-4B", 4_205_751_296),
        ("Qwen/Qwen3-4B", 4_022_468_096),
        ("meta-llama/Llama-3.2-3B-Instruct", 3_212_749_824),
        ("HuggingFaceTB/SmolLM2-135M", 134_515_008),
    ],
)
def test_shapes_that_come_with_the_program_need_no_network(
    name: str, weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    config = config_of(name)
    model = model_shape(config).model_for(config)
    assert sum(p.numel() for p in model.parameters()) == weights, "tied weights count once, and no vision tower does"
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("meta", torch.bfloat16)}


def test_frozen_weights_take_no_gradient_and_the_type_is_the_configs() -> None:
    config = config_of("Qwen/Qwen3.5-4B", "--train.freeze_non_attention", "true", "--model.torch_dtype", "float32")
    shape = model_shape(config)
    model = shape.model_for(config)
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == 1_304_961_536
    assert model.dtype == torch.float32
    assert shape.model_for(config) is model
    assert shape.model_for(config_of("Qwen/Qwen3.5-4B")) is not model


def test_a_config_json_that_was_edited_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(CONFIGS / "quickstart" / "model", folder)
    config = config_of(folder)
    tokens = model_shape(config).architecture.vocab_size
    assert model_shape(config) is model_shape(config)
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"vocab_size": tokens + 1}))
    assert model_shape(config).architecture.vocab_size == tokens + 1


@pytest.mark.parametrize("text", ["{", '{"model_type": "no such thing"}', "[]"])
def test_a_broken_config_json_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UserError, match=r"^model\.name_or_path: the architecture in .* cannot be loaded"):
        model_shape(config_of(tmp_path))


def test_a_model_that_is_no_causal_one_is_refused_without_a_list_of_all_others(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5", "d_model": 64, "num_layers": 2}))
    config = config_of(tmp_path)
    with pytest.raises(UserError, match="is no causal language model that transformers knows") as refusal:
        model_shape(config).model_for(config)
    assert "Config," not in str(refusal.value)


def test_so_is_a_name_that_is_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="nobody/nothing is not in the local cache"):
        model_shape(config_of("nobody/nothing"))


def test_a_model_without_torchs_attention_has_a_shape_too(tmp_path: Path) -> None:
    from transformers import BloomConfig

    BloomConfig(n_layer=1, hidden_size=32, n_head=2, vocab_size=64).save_pretrained(tmp_path)
    config = config_of(tmp_path)
    assert model_shape(config).model_for(config).num_parameters() > 0
    frozen = config_of(tmp_path, "--train.freeze_non_attention", "true")
    assert model_shape(frozen).model_for(frozen) is not model_shape(config).model_for(config)
