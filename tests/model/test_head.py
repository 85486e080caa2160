"""The chunked loss must be the model's own loss, for every way in which models make their logits."""

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.errors import UserError
from engine.model.head import loss_head

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 97,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"tie_word_embeddings": False},
    "qwen3": {"tie_word_embeddings": True},
    "gemma2": {"final_logit_softcapping": 5.0, "query_pre_attn_scalar": 8},
    "granite": {"logits_scaling": 7.0},
    "cohere": {"logit_scale": 0.25},
}


def small(family: str) -> Any:
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **{**SMALL, **FAMILIES[family]})
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 97, (3, 20), generator=generator)
    labels = torch.where(torch.rand(3, 20, generator=generator) < 0.5, ids, -100)
    labels[:, 0] = -100
    return ids, labels


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradients_are_those_of_the_models_own_logits(family: str) -> None:
    ids, labels = batch()
    model = small(family)
    results = {}
    for chunked in (True, False):
        model.zero_grad()
        loss = loss_head(model, chunked=chunked, chunk_tokens=7).summed_loss(ids, labels)
        loss.backward()
        results[chunked] = loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}
    own = model(input_ids=ids, labels=labels).loss * (labels[:, 1:] != -100).sum()
    torch.testing.assert_close(results[True][0], own.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(results[True], results[False], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chunked", [True, False])
def test_token_losses_stand_at_their_tokens_and_sum_up_to_the_loss(chunked: bool) -> None:
    ids, labels = batch()
    head = loss_head(small("qwen3"), chunked=chunked, chunk_tokens=7)
    losses = head.token_losses(ids, labels)
    assert losses.shape == labels.shape
    assert ((losses != 0) == (labels != -100)).all()
    torch.testing.assert_close(losses.sum(), head.summed_loss(ids, labels).detach(), rtol=1e-5, atol=1e-5)


def test_padding_on_the_right_changes_nothing_even_in_the_hybrid_model() -> None:
    from pathlib import Path

    folder = Path(__file__).parents[2] / "configs" / "quickstart" / "model"
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=torch.float32)
    head = loss_head(model, chunked=True, chunk_tokens=64)
    ids, labels = batch()
    padded_ids = torch.nn.functional.pad(ids, (0, 9), value=3)
    padded_labels = torch.nn.functional.pad(labels, (0, 9), value=-100)
    alone, padded = head.summed_loss(ids, labels), head.summed_loss(padded_ids, padded_labels)
    torch.testing.assert_close(alone, padded, rtol=1e-5, atol=1e-4)


def test_a_model_with_logits_of_another_kind_is_refused_with_the_way_out() -> None:
    model = small("llama")
    model.lm_head.register_forward_hook(lambda module, inputs, logits: logits * 3)
    with pytest.raises(UserError, match=r"memory\.chunked_loss: false"):
        loss_head(model, chunked=True, chunk_tokens=7)
    loss_head(model, chunked=False, chunk_tokens=7)
