"""What cannot be trained as a causal language model is refused by a run and by an estimate, in the same sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config import load_config
from engine.errors import UserError
from engine.memory.estimate.model_shape import model_shape
from engine.model.load import load_model

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
SMALL = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
BERT = {**SMALL, "architectures": ["BertForMaskedLM"], "model_type": "bert"}
LLAMA = {**SMALL, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
ROBERTA = {**SMALL, "architectures": ["RobertaForMaskedLM"], "model_type": "roberta", "pad_token_id": 0}


def refused(tmp_path: Path, architecture: dict[str, Any]) -> str:
    """The sentence with which both refuse a model of this config.json."""
    (tmp_path / "config.json").write_text(json.dumps(architecture))
    flags = ["--model.name_or_path", str(tmp_path), "--model.init", "random"]
    config = load_config(QUICKSTART, flags, check_files=False).config

    def by(build: Callable[[], object]) -> str:
        with pytest.raises(UserError) as found:
            build()
        return str(found.value)

    by_run = by(lambda: load_model(tmp_path, config.model, torch.device("cpu")))
    assert by(lambda: model_shape(config).model_for(config)) == by_run
    return by_run


@pytest.mark.parametrize("architecture", [BERT, ROBERTA])
def test_tokens_that_see_those_behind_them(tmp_path: Path, architecture: dict[str, Any]) -> None:
    told = refused(tmp_path, architecture)
    assert told.startswith(f"model.name_or_path: in {tmp_path}, a {architecture['architectures'][0][:4]}")
    assert "each token sees those behind it (is_decoder is false in its config.json)" in told


@pytest.mark.parametrize("method", ["gptq", "bitsandbytes", "fp8", "something new"])
def test_quantized_weights(tmp_path: Path, method: str) -> None:
    told = refused(tmp_path, {**LLAMA, "quantization_config": {"quant_method": method}})
    assert told.startswith(f"model.name_or_path: the weights of {tmp_path} are quantized by {method} (")


@pytest.mark.parametrize(
    "architecture",
    [{**BERT, "is_decoder": True}, LLAMA, {**SMALL, "model_type": "gpt_neox"}, {**SMALL, "model_type": "bart"}],
)
def test_what_can_be_trained_is_let_through(tmp_path: Path, architecture: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(architecture))
    config = load_config(QUICKSTART, ["--model.name_or_path", str(tmp_path)], check_files=False).config
    assert model_shape(config).model_for(config).get_output_embeddings() is not None
