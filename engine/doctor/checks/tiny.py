"""Small models with every part that goes wrong: gated DeltaNet, attention, a tied head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.model.quiet import quiet_import

if TYPE_CHECKING:
    from transformers import PreTrainedModel

VOCABULARY = 257
_SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "layer_types": ["linear_attention", "full_attention"],
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "tie_word_embeddings": True,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.25,
        "mrope_interleaved": True,
        "mrope_section": [2, 1, 1],
    },
}


def tiny_model(dtype: torch.dtype = torch.float32, *, is_hybrid: bool = True) -> PreTrainedModel:
    """A model of the Qwen3.5 family of 80,000 weights on the CPU; always the same weights.

    Only attention in place of the hybrid, where it is to run on the CPU of a machine with a GPU: there the library's
    DeltaNet layers would take kernels that the CPU cannot run.
    """
    with quiet_import():
        import transformers.modeling_utils  # noqa: F401
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()  # it would advise kernels that only a GPU can run
    layers = _SHAPE["layer_types"] if is_hybrid else ["full_attention"] * len(_SHAPE["layer_types"])
    config = AutoConfig.for_model("qwen3_5_text", **_SHAPE | {"layer_types": layers})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return model.train()


def tiny_batch(rows: int = 2, length: int = 24, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Token ids and labels, [B, S] int64; the first third has no loss."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(VOCABULARY, (rows, length), generator=generator)
    labels = ids.clone()
    labels[:, : length // 3] = -100
    return ids, labels
