"""Small models for traces, on the meta device or with numbers on the CPU, and configs of ways to train them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.config import Config, load_config
from engine.memory.estimate.layers.kinds import Told
from engine.memory.estimate.model_shape import model_shape
from tests.model.small import HYBRID, TWO_LAYERS

QUICKSTART = Path(__file__).parents[4] / "configs" / "quickstart.yaml"
QWEN = "Qwen/Qwen3.5-4B"
PLAIN = ("--data.packing=false", "--train.max_grad_norm=null", "--model.torch_dtype=bfloat16")
SMALL: dict[str, Any] = {**TWO_LAYERS, "vocab_size": 64, "attn_implementation": "eager"}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SMALL},
    "qwen3": {"model_type": "qwen3", **SMALL},
    "qwen3_5": {"model_type": "qwen3_5_text", **SMALL, **HYBRID},
    "gemma3": {"model_type": "gemma3_text", **SMALL, "layer_types": ["sliding_attention", "full_attention"]},
    "smollm2": {"model_type": "llama", **SMALL, "tie_word_embeddings": True, "num_key_value_heads": 4},
    "moe": {
        "model_type": "qwen3_moe",
        **SMALL,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
        "mlp_only_layers": [0],
    },
}


def build(family: str, dtype: torch.dtype, device: str, **changes: Any) -> PreTrainedModel:
    """A small model of a family, in training mode."""
    torch.manual_seed(0)
    shape = AutoConfig.for_model(**FAMILIES[family] | changes)
    with torch.device(device):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(shape, dtype=dtype)
    return model.train()


def told_to(model: PreTrainedModel, layer: nn.Module, batch: tuple[int, int]) -> Told:
    """What a decoder on the CPU tells one of its layers of a batch [B, S]."""
    told: list[Told] = []

    def listen(_layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        told.append(Told(args[1:], {name: value for name, value in kwargs.items() if name != "hidden_states"}))

    hook = layer.register_forward_pre_hook(listen, with_kwargs=True)
    with torch.no_grad():
        model.get_decoder()(input_ids=torch.ones(batch, dtype=torch.int64), use_cache=False)
    hook.remove()
    return told[0]


def way(**keys: Any) -> Config:
    """The quickstart's config with other keys, `train__gradient_checkpointing="full"` and the like."""
    given = [
        f"--{name.replace('__', '.')}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in keys.items()
    ]
    return load_config(QUICKSTART, [*PLAIN, *given]).config


@cache
def qwen(*, mixers_alone: bool = False) -> PreTrainedModel:
    """Qwen3.5-4B in bfloat16 on the meta device."""
    config = way(model__name_or_path=QWEN, train__freeze_non_attention=mixers_alone)
    return model_shape(config).model_for(config)
