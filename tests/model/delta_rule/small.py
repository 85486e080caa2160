"""Models with gated DeltaNet layers, small, and with large random weights so that whatever a token sees shows."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

SHAPE: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 16,
    "tie_word_embeddings": True,
}
EXPERTS = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
FAMILIES: dict[str, dict[str, Any]] = {"qwen3_5_text": {}, "qwen3_5_moe_text": EXPERTS, "qwen3_next": EXPERTS}


def delta_net_model(family: str = "qwen3_5_text", dtype: torch.dtype = torch.float32, **more: Any) -> Any:
    """A causal language model of this family with one DeltaNet and one attention layer."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **(SHAPE | FAMILIES.get(family, {}) | more))
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    return model
