"""Small models of the kinds whose layers differ, with the operators of the delta rule where they have one."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.model.delta_rule.install import use_delta_rule_operator
from tests.model.small import HYBRID, TWO_LAYERS

SMALL: dict[str, Any] = {**TWO_LAYERS, "vocab_size": 64}
MODELS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SMALL},
    "qwen3_5": {"model_type": "qwen3_5_text", **SMALL, **HYBRID},
    "moe": {
        "model_type": "qwen3_moe",
        **SMALL,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
    },
    "gpt_neox": {"model_type": "gpt_neox", **SMALL},
    "gpt2": {"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 64},
    "olmo2": {"model_type": "olmo2", **SMALL},
}


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def build() -> Callable[..., PreTrainedModel]:
    def make(kind: str, **changes: Any) -> PreTrainedModel:
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**MODELS[kind] | changes), dtype=torch.float32)
        model.train()
        use_delta_rule_operator(model)
        return model

    return make
