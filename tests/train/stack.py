"""Small models and settings for runs with the memory stack, and what such a run leaves behind."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from .conftest import QUICKSTART, Outcome

BF16 = ("--model.torch_dtype", "bfloat16", "--train.stochastic_rounding", "true")
PLAIN = ("--train.max_grad_norm", "null", "--train.weight_decay", 0.1)
RELEASE = (*PLAIN, "--memory.gradient_release", "true")
PACKED = ("--data.packing", "true", "--data.max_seq_length", 128)
OPTIMIZERS = ("adamw", "adamw8bit", "lion", "lion8bit")

SHAPE: dict[str, Any] = {
    "vocab_size": 3072,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "eos_token_id": 2,
    "pad_token_id": 3,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama-tied": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "tie_word_embeddings": True},
    "llama-untied": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "tie_word_embeddings": False},
    "biased": {"architectures": ["PhiForCausalLM"], "model_type": "phi", "tie_word_embeddings": False},
    "hybrid": {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 16,
        "tie_word_embeddings": True,
    },
}


def small_model(folder: Path, family: str, **more: Any) -> Path:
    """Write a model's folder: config, and the quickstart's tokenizer."""
    target = folder / family
    target.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(QUICKSTART / "model" / name, target / name)
    (target / "config.json").write_text(json.dumps(SHAPE | FAMILIES[family] | more))
    return target


@dataclass(frozen=True)
class Left:
    """What a run left in a checkpoint."""

    weights: Mapping[str, Tensor]
    optimizer: dict[str, Any]

    @staticmethod
    def by(done: Outcome) -> "Left":
        assert (done.code, done.end.status) == (0, "finished"), done.end
        return Left.in_folder(done.run.final)

    @staticmethod
    def in_folder(checkpoint: Path) -> "Left":
        weights = {name: t for file in sorted(checkpoint.glob("*.safetensors")) for name, t in load_file(file).items()}
        saved = torch.load(checkpoint / "trainer_state" / "optimizer.pt", weights_only=True)
        return Left(weights, saved["state"])


def assert_same(one: Any, other: Any, place: str = "") -> None:
    """Equal in all parts, tensors bit for bit."""
    if isinstance(one, Mapping):
        assert one.keys() == other.keys(), place
        for name in one:
            assert_same(one[name], other[name], f"{place}.{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), place
        for index, (mine, its) in enumerate(zip(one, other, strict=True)):
            assert_same(mine, its, f"{place}[{index}]")
    elif isinstance(one, Tensor):
        assert one.dtype == other.dtype and torch.equal(one, other), place
    else:
        assert one == other, place
