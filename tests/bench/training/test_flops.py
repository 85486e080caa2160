"""The counted operations of a recipe against those that torch counts while a small model of the same kind trains."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.model.freeze import freeze_non_attention
from tests.bench.training.flops import flops_per_token, utilisation, work_of
from tests.bench.training.workload import TINY, shape_of

LENGTH = 64
PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.addmm)


def random_model(config: dict[str, Any], **options: Any) -> PreTrainedModel:
    shape = AutoConfig.for_model(**config)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(shape, **options)
    return model.train()


def llama() -> PreTrainedModel:
    config = {"model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 96}
    config |= {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True}
    return random_model(config, attn_implementation="eager")


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
    work = work_of(model)
    mixing = sum(6 * states for states in work.delta_states) + sum(2 * LENGTH * w for w in work.attention_widths)
    needed = flops_per_token(work, LENGTH, {}).needed - 3 * mixing
    assert needed == pytest.approx(counted(model, *PRODUCTS), rel=0.01)


def test_attention_is_half_of_the_products_that_see_the_future_too() -> None:
    model = llama()
    work = work_of(model)
    attention = 3 * sum(2 * LENGTH * width for width in work.attention_widths)
    assert 2 * attention == pytest.approx(counted(model, torch.ops.aten.bmm), rel=0.01)


@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing_enable.*:FutureWarning")
def test_full_checkpointing_does_the_layers_once_more_but_for_their_last_product() -> None:
    model = llama()
    settings = {"train.gradient_checkpointing": "full", "memory.loss_chunk_tokens": 4096}
    model.gradient_checkpointing_enable({"use_reentrant": False})
    flops = flops_per_token(work_of(model), LENGTH, settings)
    assert flops.done is not None
    scores_again = sum(LENGTH * width for width in work_of(model).attention_widths)  # flash attention, not this one
    others = 4 * sum(2 * LENGTH * width for width in work_of(model).attention_widths)
    assert flops.done - scores_again - others == pytest.approx(counted(model, *PRODUCTS), rel=0.01)


def test_a_tiled_head_makes_its_logits_once_more_and_needs_no_more() -> None:
    work = work_of(llama())
    large = {"memory.loss_chunk_tokens": 4096}
    plain, tiled, small_chunks = (
        flops_per_token(work, LENGTH, s) for s in (large, large | {"memory.tiled_head": True}, {})
    )
    assert small_chunks == tiled
    assert tiled.needed == plain.needed
    assert plain.done is not None and tiled.done is not None
    assert tiled.done - plain.done == pytest.approx(2 * work.head_weights * (LENGTH - 1) / LENGTH)


def test_what_selective_checkpointing_computes_again_is_not_made_up() -> None:
    assert flops_per_token(work_of(llama()), LENGTH, {"train.gradient_checkpointing": "selective"}).done is None


def test_the_4b_shape_needs_six_operations_a_weight_and_token_and_some_more_for_mixing() -> None:
    config = shape_of("qwen3_5_4b")
    with torch.device("meta"):
        model = random_model(config, dtype=torch.bfloat16)
    weights = sum(parameter.numel() for parameter in model.parameters())
    needed = flops_per_token(work_of(model), 4096, {}).needed
    assert 6 * weights < needed < 6.5 * weights
    assert needed - 6 * weights == pytest.approx(0.8e9 + 0.23e9, rel=0.05)  # attention and the delta rule


def test_utilisation_is_a_share_of_the_peak() -> None:
    assert utilisation(25e9, 18_000, 900e12) == pytest.approx(0.5)
    assert utilisation(None, 18_000, 900e12) is None
    assert utilisation(25e9, 18_000, None) is None
