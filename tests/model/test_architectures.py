"""Random weights of a well-known model need no download: its shape comes with the program."""

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.config import Model
from engine.model.architectures import shipped_folder, shipped_names
from engine.model.hub import local_folder, tokenizer_folder
from engine.model.tokenizer import load_tokenizer, stand_in_note

WEIGHTS = {
    "HuggingFaceTB/SmolLM2-135M": 134_515_008,
    "Qwen/Qwen3-0.6B": 596_049_920,
    "Qwen/Qwen3-4B": 4_022_468_096,
    "Qwen/Qwen3.5-4B": 4_205_751_296,
    "meta-llama/Llama-3.2-1B": 1_235_814_400,
    "meta-llama/Llama-3.2-3B": 3_212_749_824,
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))


def nobody(done: int, total: int) -> None:
    """Hears of no progress."""


@pytest.mark.parametrize("name", shipped_names())
def test_a_shipped_shape_is_that_of_the_model(name: str) -> None:
    folder = local_folder(name, False, nobody, "random")
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    assert sum(parameter.numel() for parameter in model.parameters()) == WEIGHTS[name]
    assert (folder / "config.json").stat().st_size < 4096


def test_every_shape_that_is_listed_is_shipped() -> None:
    assert set(shipped_names()) == set(WEIGHTS)


@pytest.mark.parametrize("name", ["Qwen/Qwen3.5-4B-Base", "meta-llama/Llama-3.2-1B-Instruct"])
def test_a_model_with_the_same_shape_under_another_name_is_found(name: str) -> None:
    assert shipped_folder(name) == shipped_folder(name.rpartition("-")[0]) is not None


def test_a_shape_that_is_not_shipped_is_none() -> None:
    assert shipped_folder("Qwen/Qwen3.5") is None
    assert shipped_folder("../..") is None


def test_without_its_own_tokenizer_the_small_one_stands_in_and_that_is_said() -> None:
    config = Model(name_or_path="Qwen/Qwen3-4B", init="random")
    folder = tokenizer_folder(config.name_or_path, False, nobody, "random")
    tokenizer = load_tokenizer(folder, config)
    assert 0 < len(tokenizer) <= 151936
    note = stand_in_note(folder, config)
    assert note is not None and "tokenizer of Qwen/Qwen3-4B is not on this machine" in note


def test_pretrained_weights_are_never_those_of_a_shape() -> None:
    from engine.errors import UserError

    with pytest.raises(UserError, match="not in the local cache"):
        local_folder("Qwen/Qwen3-4B", False, nobody)
