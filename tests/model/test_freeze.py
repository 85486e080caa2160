"""What `freeze_non_attention` trains in models of several families."""

import copy

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedModel,
    Qwen3NextConfig,
)

from engine.errors import UserError
from engine.model.freeze import freeze_non_attention
from tests.bench.gpu_run import QWEN3_5_4B


def on_meta(config: PretrainedConfig) -> PreTrainedModel:
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def trained(model: PreTrainedModel) -> set[str]:
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_shares_of_qwen3_5_4b() -> None:
    shape = {key: value for key, value in QWEN3_5_4B.items() if key != "architectures"}
    model = on_meta(AutoConfig.for_model(**shape))
    freeze_non_attention(model)
    total = sum(parameter.numel() for parameter in model.parameters())
    mixers = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    embedding = model.get_input_embeddings().weight.numel()
    assert round(100 * mixers / total, 1) == 31.0
    assert round(100 * mixers / (total - embedding), 1) == 36.6


def test_a_mixer_trains_with_its_norms_and_convolution_and_nothing_else_does() -> None:
    shape = {key: value for key, value in QWEN3_5_4B.items() if key != "architectures"}
    model = on_meta(AutoConfig.for_model(**shape))
    freeze_non_attention(model)
    names = trained(model)
    assert {name.split(".")[3] for name in names} == {"self_attn", "linear_attn"}
    for part in ("A_log", "dt_bias", "conv1d.weight", "norm.weight"):
        assert f"model.layers.0.linear_attn.{part}" in names
    assert "model.layers.3.self_attn.q_norm.weight" in names
    assert not any("layernorm" in name or "mlp" in name or "embed" in name for name in names)


SMALL = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "vocab_size": 64, "intermediate_size": 24}
FAMILIES = {
    "llama": (LlamaConfig(**SMALL), {"self_attn"}),
    "gpt2": (GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=64), {"attn"}),
    "gpt_neox": (GPTNeoXConfig(**SMALL), {"attention"}),
    "qwen3_next": (
        Qwen3NextConfig(
            **SMALL,
            num_key_value_heads=1,
            head_dim=8,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            shared_expert_intermediate_size=8,
            linear_num_key_heads=2,
            linear_num_value_heads=2,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
        ),
        {"self_attn", "linear_attn"},
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str) -> None:
    config, mixers = FAMILIES[family]
    model = on_meta(config)
    freeze_non_attention(model)
    assert {name.split(".")[3] for name in trained(model)} == mixers


def test_a_model_without_mixers_of_a_known_name_is_refused_with_the_names_that_it_has() -> None:
    model = on_meta(LlamaConfig(**SMALL))
    for layer in model.model.layers:
        layer.looks_around = copy.deepcopy(layer.self_attn)
        del layer.self_attn
    with pytest.raises(UserError, match=r"looks_around.*mlp.*post_attention_layernorm.*|mlp.*looks_around"):
        freeze_non_attention(model)
    assert all(parameter.requires_grad for parameter in model.parameters())
