"""Small models whose layers multiply in float8, emulated: rounded as on a GPU, multiplied in float32."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.float8 import use_float8

pytest.importorskip("torchao")

SMALL: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 64,
    "intermediate_size": 96,
}
MODELS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SMALL},
    "qwen3_5": {
        "model_type": "qwen3_5_text",
        **SMALL,
        "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "tie_word_embeddings": True,
    },
}


def in_whole_blocks(linear: nn.Linear) -> bool:
    """As `pays`, for matrices of any size."""
    return not any(side % 16 for side in linear.weight.shape)


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


Pair = tuple[PreTrainedModel, PreTrainedModel]


@pytest.fixture
def pair() -> Callable[..., Pair]:
    """A model as it is, and the same one in float8."""

    def make(kind: str, dtype: torch.dtype = torch.float32) -> Pair:
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**MODELS[kind]), dtype=dtype).train()
        use_delta_rule_operator(model)
        converted = copy.deepcopy(model)
        use_float8(converted, emulate=True, worth_it=in_whole_blocks)
        return model, converted

    return make
