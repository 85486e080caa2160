"""A model that cannot be had is explained in one sentence."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config import Model
from engine.errors import UserError
from engine.model.hub import local_folder
from engine.model.load import load_model, weights_dtype
from engine.model.tokenizer import load_tokenizer

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart" / "model"


def folder_of(name: str) -> Path:
    return local_folder(name, trust_remote_code=False, progress=lambda done, total: None)


def test_a_local_folder_is_taken_as_it_is() -> None:
    assert folder_of(str(QUICKSTART)) == QUICKSTART


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("./nowhere", "there is no folder"),
        ("/nowhere/at/all", "there is no folder"),
        ("a model with spaces", "neither a local folder nor a hub name"),
    ],
)
def test_a_name_that_cannot_be_a_model_is_refused_at_once(name: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        folder_of(name)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no config\.json"):
        folder_of(str(tmp_path))


def test_without_network_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="not in the local cache and HF_HUB_OFFLINE is set"):
        folder_of("owner/some-model-that-is-not-cached")


def test_auto_means_bfloat16_on_a_gpu_and_float32_on_the_cpu() -> None:
    auto = Model(name_or_path="m")
    assert weights_dtype(auto, torch.device("cpu")) == torch.float32
    assert weights_dtype(auto, torch.device("cuda")) == torch.bfloat16


def test_random_weights_are_those_of_the_seed() -> None:
    config = Model(name_or_path=str(QUICKSTART), init="random")
    weights = []
    for _ in range(2):
        torch.manual_seed(3)
        model = load_model(QUICKSTART, config, torch.device("cpu"))
        weights.append([parameter.detach().clone() for parameter in model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))
    assert model.training and len(load_tokenizer(QUICKSTART, config)) <= model.config.vocab_size


def test_missing_weights_and_broken_files_are_explained(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((QUICKSTART / "config.json").read_text())
    config = Model(name_or_path=str(tmp_path))
    with pytest.raises(UserError, match=r"holds no weights .* set model\.init: random"):
        load_model(tmp_path, config, torch.device("cpu"))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no_such_family"}))
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(tmp_path, config, torch.device("cpu"))
    with pytest.raises(UserError, match="the tokenizer in"):
        load_tokenizer(tmp_path, config)


def test_missing_attention_code_names_the_key(tmp_path: Path) -> None:
    config = Model(name_or_path=str(QUICKSTART), init="random", attn_implementation="flash_attention_2")
    with pytest.raises(UserError, match=r"model\.attn_implementation"):
        load_model(QUICKSTART, config, torch.device("cpu"))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with a small model's config and weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "head_dim": 8}
    Qwen3ForCausalLM(Qwen3Config(num_attention_heads=2, num_key_value_heads=1, **shape)).save_pretrained(tmp_path)
    return tmp_path


def load_stored(folder: Path) -> None:
    load_model(folder, Model(name_or_path=str(folder)), torch.device("cpu"))


def test_whole_weights_are_loaded(stored: Path) -> None:
    load_stored(stored)


def test_weights_that_lack_a_tensor_are_refused_instead_of_drawn_at_random(stored: Path) -> None:
    file = stored / "model.safetensors"
    weights = load_file(file)
    del weights["model.layers.0.mlp.up_proj.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"1 of the model's tensors are not there, .*layers\.0\.mlp\.up_proj\.weight"):
        load_stored(stored)


def test_weights_of_another_shape_are_refused(stored: Path) -> None:
    file = stored / "model.safetensors"
    save_file({**load_file(file), "model.norm.weight": torch.ones(7)}, file, metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"model\.norm\.weight is \[7\] instead of \[16\]"):
        load_stored(stored)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"garbage " * 100, "cannot be loaded"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "model.safetensors .*git lfs pull"),
    ],
)
def test_a_file_that_holds_no_weights_is_explained(stored: Path, content: bytes, said: str) -> None:
    (stored / "model.safetensors").write_bytes(content)
    with pytest.raises(UserError, match=said):
        load_stored(stored)
