"""Documents in one line of tokens give the numbers that they give alone, in every model that packs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from engine.data.feeding.batches import Slots, collate, collate_packs, packs_of
from engine.data.feeding.samples import Sample, sample_of
from engine.model.head import LossHead
from engine.model.packed.isolation import Isolation, Way
from engine.model.packed.proof import LEAK_LIMIT, NotIsolatedError, isolate, measure
from tests.model.small import ONE_VALUE_HEAD_A_KEY, TWO_LAYERS

QUICKSTART = Path(__file__).parents[3] / "configs" / "quickstart" / "model"
SMALL: dict[str, Any] = {
    **TWO_LAYERS,
    "vocab_size": 97,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"sliding_window": 16},
    "gemma2": {"sliding_window": 16, "query_pre_attn_scalar": 8},
    "qwen3_moe": EXPERTS,
    "gpt_oss": {"num_local_experts": 4, "sliding_window": 16},
    "qwen3_next": ONE_VALUE_HEAD_A_KEY | EXPERTS | {"shared_expert_intermediate_size": 16},
    "olmo_hybrid": ONE_VALUE_HEAD_A_KEY,
    "mamba2": {"num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 1},
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "granitemoehybrid": {
        "layer_types": ["mamba", "attention"],
        "mamba_n_heads": 8,
        "mamba_d_head": 8,
        "mamba_d_state": 8,
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
    },
}
RECURRENT = {"qwen3_next", "olmo_hybrid", "mamba2", "lfm2", "granitemoehybrid"}
LENGTHS = [[67, 6, 1], [20, 12]]


def small(family: str, dtype: torch.dtype = torch.float32) -> Any:
    """A model with large random weights, so that whatever one token sees of another shows."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **(SMALL | FAMILIES.get(family, {})))
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    return model


def quickstart(dtype: torch.dtype = torch.float32) -> Any:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(QUICKSTART), dtype=dtype)


def lines_of_documents(vocabulary: int) -> list[list[Sample]]:
    """Packs of documents with loss on about half of their tokens; one is a single token."""
    generator = torch.Generator().manual_seed(3)
    packs, row = [], 0
    for lengths in LENGTHS:
        packs.append([])
        for length in lengths:
            ids = torch.randint(3, vocabulary, (length,), generator=generator)
            labels = torch.where(torch.rand(length, generator=generator) < 0.5, ids, -100)
            packs[-1].append(sample_of(row, ids.tolist(), labels.tolist()))
            row += 1
    return packs


def logits_of(model: Any, batch: Any, isolation: Isolation) -> Tensor:
    told = isolation.enter(batch.packs)
    logits: Tensor = model(input_ids=batch.input_ids, use_cache=False, **told).logits
    return logits


@pytest.mark.parametrize("family", ["quickstart", *FAMILIES])
@torch.no_grad()
def test_packed_and_separate_logits_are_equal(family: str) -> None:
    model = (quickstart() if family == "quickstart" else small(family)).eval()
    lines = lines_of_documents(model.config.vocab_size)
    isolation = isolate(model)
    batch = collate_packs(lines, pad_id=0)
    packed = logits_of(model, batch, isolation)
    documents = [sample for line in lines for sample in line]
    for sample, (line, start, stop) in zip(documents, batch.documents, strict=True):
        alone = logits_of(model, collate([sample], pad_id=0), isolation)
        torch.testing.assert_close(packed[line, start:stop], alone[0], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("family", "chunk_tokens"), [("quickstart", 16), ("llama", 16), ("llama", None)])
def test_loss_and_gradients_of_packs_are_those_of_the_same_rows_side_by_side(
    family: str, chunk_tokens: int | None
) -> None:
    model = quickstart() if family == "quickstart" else small(family)
    lines = lines_of_documents(model.config.vocab_size)
    head = LossHead(model, chunk_tokens, softcap=None, scale=1.0, isolation=isolate(model))
    packed = collate_packs(lines, pad_id=0)
    separate = collate([sample for line in lines for sample in line], pad_id=0)
    assert packed.loss_tokens == separate.loss_tokens and packed.slots < separate.slots
    found = {}
    for batch in (packed, separate):
        model.zero_grad()
        loss = head.summed_loss(batch.input_ids, batch.labels, batch.packs) / batch.loss_tokens
        loss.backward()
        found[batch is packed] = loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}
    torch.testing.assert_close(found[True][0], found[False][0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found[True][1], found[False][1], rtol=1e-3, atol=1e-5)


def test_the_loss_of_each_token_is_the_one_that_it_has_alone() -> None:
    model = quickstart()
    lines = lines_of_documents(model.config.vocab_size)
    head = LossHead(model, 16, softcap=None, scale=1.0, isolation=isolate(model))
    batch = collate_packs(lines, pad_id=0)
    losses = head.token_losses(batch.input_ids, batch.labels, batch.packs)
    documents = [sample for line in lines for sample in line]
    for sample, (line, start, stop) in zip(documents, batch.documents, strict=True):
        alone = collate([sample], pad_id=0)
        expected = head.token_losses(alone.input_ids, alone.labels)[0] if len(sample) > 1 else torch.zeros(1)
        torch.testing.assert_close(losses[line, start:stop], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", sorted(RECURRENT))
def test_without_isolation_the_proof_finds_that_documents_see_each_other(family: str) -> None:
    with torch.no_grad():
        leak, difference = measure(small(family).eval(), Isolation(small(family), Way("none")))
    assert leak > 100 * LEAK_LIMIT[torch.float32] and difference > 0.01


@pytest.mark.parametrize("family", ["quickstart", "gpt_oss"])
def test_in_bfloat16_too_no_document_changes_another(family: str) -> None:
    model = quickstart(torch.bfloat16) if family == "quickstart" else small(family, torch.bfloat16)
    isolation = isolate(model)
    assert model.training, "the proof leaves the model as it was"
    with torch.no_grad():
        leak, _ = measure(model.eval(), isolation)
    assert leak == 0.0


def test_a_convolution_that_reaches_back_over_the_border_is_found() -> None:
    """Its window covers three tokens; a limit meant for noise must not let it through."""
    model = quickstart().eval()
    with torch.no_grad():
        for layer in model.model.layers[:3]:
            layer.linear_attn.A_log.fill_(9.0)  # the state is forgotten at once, the convolution's window stays
        leak, _ = measure(model, Isolation(model, Way("none")))
    assert leak > LEAK_LIMIT[torch.bfloat16]


@pytest.mark.parametrize("family", ["bloom", "rwkv"])
def test_a_model_that_cannot_keep_documents_apart_is_refused_and_left_as_it_was(family: str) -> None:
    model = small(family)
    with pytest.raises(NotIsolatedError, match=r"text of one document changes another one by \d+"):
        isolate(model)
    assert not any("forward" in vars(module) for module in model.modules())


def test_the_wrappers_come_off_and_change_nothing_that_is_saved() -> None:
    model = quickstart()
    names = list(model.state_dict())
    isolation = isolate(model)
    assert list(model.state_dict()) == names
    isolation.remove()
    assert not any("forward" in vars(module) for module in model.modules())


def test_after_packs_a_batch_without_them_is_computed_as_ever() -> None:
    model = quickstart()
    lines = lines_of_documents(model.config.vocab_size)
    separate = collate([sample for line in lines for sample in line], pad_id=0)
    before = LossHead(model, 16, None, 1.0).summed_loss(separate.input_ids, separate.labels)
    head = LossHead(model, 16, None, 1.0, isolation=isolate(model))
    assert head.isolation is not None
    packed = collate_packs(lines, pad_id=0)
    head.summed_loss(packed.input_ids, packed.labels, packed.packs)
    assert torch.equal(head.summed_loss(separate.input_ids, separate.labels), before)
    head.summed_loss(packed.input_ids, packed.labels, packed.packs)
    same_shape = model(packed.input_ids).logits
    head.isolation.remove()
    assert torch.equal(same_shape, model(packed.input_ids).logits), "also when somebody else calls the model"


def test_a_layer_that_runs_once_more_in_the_backward_pass_knows_the_documents_still() -> None:
    model = quickstart()
    lines = lines_of_documents(model.config.vocab_size)
    head = LossHead(model, 16, None, 1.0, isolation=isolate(model))
    batch = collate_packs(lines, pad_id=0)
    gradients = []
    for checkpointing in (False, True):
        if checkpointing:
            model.gradient_checkpointing_enable()
        model.zero_grad()
        head.summed_loss(batch.input_ids, batch.labels, batch.packs).backward()  # type: ignore[no-untyped-call]
        gradients.append([p.grad.clone() for p in model.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-5, atol=1e-5)


def test_packs_without_isolation_are_never_computed() -> None:
    packs = packs_of([Slots(0, 0, 2), Slots(0, 2, 4)], (1, 4))
    with pytest.raises(AssertionError, match="see each other"):
        LossHead(small("llama"), 16, None, 1.0).summed_loss(torch.ones(1, 4).long(), torch.ones(1, 4).long(), packs)


def test_flash_attention_is_told_where_documents_begin_and_padding_too() -> None:
    model = small("llama")
    model.config._attn_implementation = "flash_attention_2"
    isolation = Isolation(model, Way("flash"))
    packs = packs_of([Slots(0, 0, 4), Slots(0, 4, 5), Slots(0, 5, 8), Slots(1, 0, 6)], (2, 8))
    told = isolation.enter(packs)
    assert told["position_ids"].tolist() == [[0, 1, 2, 3, 0, 0, 1, 2], [0, 1, 2, 3, 4, 5, 0, 1]]
    assert told["cu_seq_lens_q"].tolist() == told["cu_seq_lens_k"].tolist() == [0, 4, 5, 8, 14, 16]
    assert told["cu_seq_lens_q"].dtype == torch.int32
    assert (told["max_length_q"], told["max_length_k"]) == (8, 8)
