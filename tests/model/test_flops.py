"""The counted operations of a recipe against those that torch counts while a small model of the same kind trains."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.model.flops import Attention, flops_per_token, products_of
from engine.model.freeze import freeze_non_attention
from engine.model.recompute import recompute_activations
from tests.bench.training.recipes import config_of
from tests.bench.training.workload import TINY, shape_of

LENGTH = 64
PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.addmm)


def random_model(config: dict[str, Any], **options: Any) -> PreTrainedModel:
    shape = AutoConfig.for_model(**config)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(shape, **options)
    return model.train()


def llama(attention: str = "eager") -> PreTrainedModel:
    config = {"model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 96}
    config |= {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True}
    return random_model(config, attn_implementation=attention)


def counted(model: PreTrainedModel, *kinds: Any) -> float:
    """The operations of these kinds that a step does, for one token."""
    ids = torch.arange(LENGTH)[None] + 5
    with FlopCounterMode(display=False) as counter:
        hidden = model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
        loss = (hidden[0, :-1] @ model.get_output_embeddings().weight.t()).float().logsumexp(-1).sum()
        loss.backward()
    totals = counter.get_flop_counts()["Global"]
    return float(sum(count for kind, count in totals.items() if kind in kinds)) / LENGTH


@pytest.mark.parametrize("frozen", [False, True])
def test_products_of_weights_are_those_that_torch_counts(frozen: bool) -> None:
    model = random_model(TINY | {"model_type": "qwen3_5_text", "vocab_size": 512})
    if frozen:
        freeze_non_attention(model)
    products = products_of(model)
    needed = flops_per_token(products, config_of({}), LENGTH).needed - 3 * products.mixing(LENGTH)
    assert needed == pytest.approx(counted(model, *PRODUCTS), rel=0.01)


def test_attention_is_half_of_the_products_that_see_the_future_too() -> None:
    model = llama()
    attention = 3 * products_of(model).mixing(LENGTH)
    assert 2 * attention == pytest.approx(counted(model, torch.ops.aten.bmm), rel=0.01)


def test_a_window_leaves_the_tokens_in_front_of_it_out() -> None:
    seen = [min(position + 0.5, 16) for position in range(LENGTH)]
    assert Attention(width=8, window=16).forward(LENGTH) == pytest.approx(4 * 8 * sum(seen) / LENGTH)
    assert Attention(width=8, window=LENGTH).forward(LENGTH) == Attention(width=8).forward(LENGTH)


@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing_enable.*:FutureWarning")
def test_full_checkpointing_does_the_layers_once_more_but_for_their_last_product() -> None:
    model = llama()
    config = config_of({"train.gradient_checkpointing": "full", "memory.loss_chunk_tokens": 4096})
    model.gradient_checkpointing_enable({"use_reentrant": False})
    products = products_of(model)
    mixing = products.mixing(LENGTH)
    scores_again = mixing / 2  # flash attention, not this one
    done = flops_per_token(products, config, LENGTH).done
    assert done - scores_again - 4 * mixing == pytest.approx(counted(model, *PRODUCTS), rel=0.01)


@pytest.mark.parametrize("how", ["mixers", "selective"])
def test_what_our_checkpointing_computes_again_is_what_torch_counts(how: Any) -> None:
    model = llama(attention="sdpa")
    recompute_activations(model, how)
    config = config_of({"train.gradient_checkpointing": how, "memory.loss_chunk_tokens": 4096})
    products = products_of(model)
    mixing = products.mixing(LENGTH)
    done = flops_per_token(products, config, LENGTH).done
    assert done - 3.5 * mixing == pytest.approx(counted(model, *PRODUCTS), rel=0.01)


def test_a_tiled_head_makes_its_logits_once_more_and_needs_no_more() -> None:
    products = products_of(llama())
    large = {"memory.loss_chunk_tokens": 4096}
    plain, tiled, small_chunks = (
        flops_per_token(products, config_of(settings), LENGTH)
        for settings in (large, large | {"memory.tiled_head": True, "memory.gradient_release": True}, {})
    )
    assert small_chunks == tiled
    assert tiled.needed == plain.needed
    assert tiled.done - plain.done == pytest.approx(2 * products.head_weights * (LENGTH - 1) / LENGTH)


def test_a_token_is_multiplied_with_its_own_experts_alone() -> None:
    config = {"model_type": "qwen3_moe", "vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96}
    config |= {"moe_intermediate_size": 32, "num_experts": 8, "num_experts_per_tok": 2}
    experts = [one.weights for one in products_of(random_model(config)).layers[0] if "experts" in one.name]
    assert sum(experts) == 2 * 3 * 64 * 32


def test_other_recurrent_mixers_count_with_their_weights() -> None:
    config = {"model_type": "mamba", "vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2}
    products = products_of(random_model(config))
    weights = sum(matrix.weights for matrix in products.matrices)
    assert weights > 0
    expected = 6 * weights + 6 * products.head_weights * (LENGTH - 1) / LENGTH
    assert flops_per_token(products, config_of({}), LENGTH).needed == pytest.approx(expected)


def test_the_4b_shape_needs_six_operations_a_weight_and_token_and_some_more_for_mixing() -> None:
    config = shape_of("qwen3_5_4b")
    with torch.device("meta"):
        model = random_model(config, dtype=torch.bfloat16)
    weights = sum(parameter.numel() for parameter in model.parameters())
    needed = flops_per_token(products_of(model), config_of({}), 4096).needed
    assert 6 * weights < needed < 6.5 * weights
    assert needed - 6 * weights == pytest.approx(0.8e9 + 0.23e9, rel=0.05)  # attention and the delta rule
