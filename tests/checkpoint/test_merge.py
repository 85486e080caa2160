"""A checkpoint is the original model with the trained tensors in it: nothing that was not trained is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, Qwen3_5Config, Qwen3_5ForConditionalGeneration

from engine.checkpoint.merge import merged_bytes, write_merged
from engine.checkpoint.original import NoOriginal, Original, find_original
from engine.checkpoint.safetensors_file import SourceChangedError

MTP = "mtp.layers.0.self_attn.q_proj.weight"
TEXT: dict[str, Any] = {
    "vocab_size": 128,
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
VISION = {
    "depth": 1,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_heads": 2,
    "out_hidden_size": 32,
    "num_position_embeddings": 16,
}


def save_vision_model(folder: Path, shard_size: str = "5GB") -> Path:
    """A tiny Qwen3.5 with its vision tower and a layer for multi-token prediction, in bf16."""
    config = Qwen3_5Config(text_config=TEXT, vision_config=VISION, tie_word_embeddings=True)
    torch.manual_seed(0)
    model = Qwen3_5ForConditionalGeneration(config).to(torch.bfloat16)
    model.save_pretrained(folder, max_shard_size=shard_size)
    file = sorted(folder.glob("*.safetensors"))[-1]
    stored = {**load_file(file), MTP: torch.randn(64, 32).bfloat16()}
    save_file(stored, file, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        content = json.loads(index.read_text())
        content["weight_map"][MTP] = file.name
        index.write_text(json.dumps(content))
    (folder / "preprocessor_config.json").write_text('{"patch_size": 16}')
    return folder


def all_tensors(folder: Path) -> dict[str, torch.Tensor]:
    return {key: value for file in folder.glob("*.safetensors") for key, value in load_file(file).items()}


def loaded(folder: Path, dtype: torch.dtype = torch.bfloat16) -> tuple[Any, Original]:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    original = find_original(folder, model)
    assert isinstance(original, Original), original
    return model, original


def move(model: Any) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter))


@pytest.fixture(params=["5GB", "20KB"], ids=["one file", "several files"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return save_vision_model(tmp_path / "original", request.param)


def test_vision_and_prediction_layers_survive_and_the_trained_tensors_are_there(folder: Path, tmp_path: Path) -> None:
    model, original = loaded(folder)
    move(model)
    saved = tmp_path / "saved"
    saved.mkdir()
    write_merged(original, model, saved)

    before, after = all_tensors(folder), all_tensors(saved)
    assert before.keys() == after.keys()
    untouched = [key for key in before if key.startswith(("model.visual.", "mtp."))]
    assert len(untouched) > 5 and set(untouched) == set(original.not_loaded)
    assert all(torch.equal(before[key], after[key]) for key in untouched)
    again = AutoModelForCausalLM.from_pretrained(saved, dtype=torch.bfloat16)
    assert again.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())
    assert again.lm_head.weight.data_ptr() == again.get_input_embeddings().weight.data_ptr()
    assert (saved / "preprocessor_config.json").read_text() == '{"patch_size": 16}'
    whole, info = Qwen3_5ForConditionalGeneration.from_pretrained(saved, output_loading_info=True)
    assert (
        not info["missing_keys"]
        and type(whole).__name__ == json.loads((saved / "config.json").read_text())["architectures"][0]
    )
    if (index := saved / "model.safetensors.index.json").is_file():
        listed = json.loads(index.read_text())
        assert set(listed["weight_map"]) == set(after)
        assert listed["metadata"]["total_size"] == sum(value.nbytes for value in after.values())
        for key, name in listed["weight_map"].items():
            with safe_open(saved / name, "pt") as file:
                assert key in file.keys()  # noqa: SIM118 - it is no mapping


def test_the_size_is_known_before_it_is_written(folder: Path, tmp_path: Path) -> None:
    model, original = loaded(folder, torch.float32)
    saved = tmp_path / "saved"
    saved.mkdir()
    write_merged(original, model, saved)
    assert merged_bytes(original, model) == sum(value.nbytes for value in all_tensors(saved).values())
    assert json.loads((saved / "config.json").read_text())["dtype"] == "float32"
    assert AutoModelForCausalLM.from_pretrained(saved).dtype == torch.float32


def test_frozen_tensors_keep_the_bytes_and_the_type_that_they_had(folder: Path, tmp_path: Path) -> None:
    model, original = loaded(folder, torch.float32)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("mlp" not in name)
    move(model)
    saved = tmp_path / "saved"
    saved.mkdir()
    write_merged(original, model, saved)
    before, after = all_tensors(folder), all_tensors(saved)
    for key in before:
        is_trained = key in original.owner and "mlp" not in key
        assert after[key].dtype == (torch.float32 if is_trained else torch.bfloat16)
        assert torch.equal(before[key].to(after[key].dtype), after[key]) != is_trained


def test_an_original_that_goes_away_meanwhile_is_still_written(folder: Path, tmp_path: Path) -> None:
    model, original = loaded(folder)
    before = all_tensors(folder)
    for file in folder.iterdir():
        file.unlink()
    assert original.is_removed
    for name in ("first", "second"):
        saved = tmp_path / name
        saved.mkdir()
        write_merged(original, model, saved)
        original = original.moved_to(saved)
        assert not original.is_removed
        assert all(torch.equal(value, all_tensors(saved)[key]) for key, value in before.items())


def test_an_original_that_is_written_over_is_noticed(folder: Path, tmp_path: Path) -> None:
    model, original = loaded(folder)
    file = sorted(folder.glob("*.safetensors"))[0]
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SourceChangedError, match="has been changed since the model was loaded"):
        write_merged(original, model, tmp_path)


def test_weights_that_are_not_those_of_the_files_are_never_merged(folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    move(model)
    found = find_original(folder, model)
    assert isinstance(found, NoOriginal)
    assert "will not hold 22 tensors (model.visual, mtp)" in found.sentence
    assert "is not equal to" in found.sentence


def test_experts_that_are_stacked_in_memory_are_written_one_by_one_again(tmp_path: Path) -> None:
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    shape = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 8}
    experts = {"num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "intermediate_size": 16}
    Qwen3MoeForCausalLM(Qwen3MoeConfig(**shape, **experts, num_key_value_heads=1)).save_pretrained(tmp_path / "moe")
    keys = all_tensors(tmp_path / "moe").keys()
    assert "model.layers.0.mlp.experts.2.up_proj.weight" in keys
    model, original = loaded(tmp_path / "moe", torch.float32)
    move(model)
    saved = tmp_path / "saved"
    saved.mkdir()
    write_merged(original, model, saved)
    assert all_tensors(saved).keys() == keys
    again = AutoModelForCausalLM.from_pretrained(saved, dtype=torch.float32).state_dict()
    assert all(torch.equal(value, again[name]) for name, value in model.state_dict().items())
