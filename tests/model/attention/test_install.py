"""Models whose attention is ours: what they compute, how they take packs, and what they save."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from transformers import AutoConfig, AutoModelForCausalLM

from engine.data.feeding.batches import Batch, collate, collate_packs
from engine.data.feeding.samples import Sample, sample_of
from engine.model.attention import interface
from engine.model.attention.install import replace_attention, use_attention_kernels
from engine.model.compiled import compile_layers
from engine.model.delta_rule.install import use_delta_rule_operator
from engine.model.head import LossHead
from engine.model.packed.proof import isolate
from engine.model.recompute import recompute_activations
from tests.model.small import ONE_VALUE_HEAD_A_KEY, TWO_LAYERS

SMALL: dict[str, Any] = {
    **TWO_LAYERS,
    "vocab_size": 97,
    "max_position_embeddings": 256,
}
WINDOW = {"use_sliding_window": True, "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "mistral with a window": ("mistral", {"sliding_window": 16}),
    "qwen3": ("qwen3", {}),
    "qwen3 with a window": ("qwen3", WINDOW),
    "qwen3_5": ("qwen3_5_text", ONE_VALUE_HEAD_A_KEY),
}
LENGTHS = [[67, 6, 1], [20, 12]]


def small(family: str, **changes: Any) -> Any:
    """A model with large random weights, so that whatever one token sees of another shows."""
    name, more = FAMILIES[family]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **(SMALL | more | changes)))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    use_delta_rule_operator(model)
    return model


def lines_of_documents() -> list[list[Sample]]:
    generator = torch.Generator().manual_seed(3)
    lines, row = [], 0
    for lengths in LENGTHS:
        lines.append([])
        for length in lengths:
            ids = torch.randint(3, SMALL["vocab_size"], (length,), generator=generator)
            lines[-1].append(sample_of(row, ids.tolist(), ids.tolist()))
            row += 1
    return lines


def loss_and_gradients(head: LossHead, batch: Batch) -> tuple[Tensor, list[Tensor]]:
    head.model.zero_grad()
    loss = head.summed_loss(batch.input_ids, batch.labels, batch.packs)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach(), [one.grad.clone() for one in head.model.parameters() if one.grad is not None]


@pytest.mark.parametrize("family", FAMILIES)
def test_packs_are_taken_by_documents_with_the_numbers_of_documents_alone(family: str) -> None:
    model = small(family)
    lines = lines_of_documents()
    separate = collate([sample for line in lines for sample in line], pad_id=0)
    wanted = loss_and_gradients(LossHead(model, 16, None, 1.0), separate)
    assert replace_attention(model)
    isolation = isolate(model)
    assert isolation.way.how.startswith("attention by documents"), isolation.way.how
    head = LossHead(model, 16, None, 1.0, isolation=isolation)
    packed = collate_packs(lines, pad_id=0)
    torch.testing.assert_close(loss_and_gradients(head, packed), wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(loss_and_gradients(head, separate), wanted, rtol=1e-4, atol=1e-4)


def test_cudnn_is_asked_first_in_training_on_lines_of_one_length_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SDPBackend] = []

    def asking(kernels: list[SDPBackend], set_priority: bool) -> Any:
        asked.append(kernels[0])
        return nullcontext()

    monkeypatch.setattr(interface, "sdpa_kernel", asking)
    ids = torch.arange(1, 9)[None]
    for one_length, training in ((False, True), (True, False), (True, True)):
        model = small("llama", num_hidden_layers=1)
        replace_attention(model, one_length=one_length)
        model.train(training)(ids, use_cache=False)
        assert (asked[-1] == SDPBackend.CUDNN_ATTENTION) is (one_length and training)


@pytest.mark.parametrize("family", ["llama", "qwen3_5"])
def test_a_packed_batch_has_no_mask_of_its_tokens(family: str) -> None:
    model = small(family)
    replace_attention(model)
    told = isolate(model).enter(collate_packs(lines_of_documents(), pad_id=0).packs)
    masks = told["attention_mask"]
    assert all(mask is None or mask.numel() == 0 for mask in (masks.values() if isinstance(masks, dict) else [masks]))
    assert told["cu_seq_lens_q"].tolist() == [0, 67, 73, 74, 94, 106, 148]


@pytest.mark.parametrize("how", ["full", "selective"])
def test_layers_that_are_computed_again_know_the_documents_still(how: Any) -> None:
    batch = collate_packs(lines_of_documents(), pad_id=0)
    model = small("qwen3_5")
    replace_attention(model)
    head = LossHead(model, 16, None, 1.0, isolation=isolate(model))
    wanted = loss_and_gradients(head, batch)
    assert recompute_activations(model, how).unseen_mixers == 0
    torch.testing.assert_close(loss_and_gradients(head, batch), wanted, rtol=1e-5, atol=1e-5)


def test_where_the_kernel_fails_packs_get_a_mask_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: Any) -> Any:
        raise RuntimeError("no kernel image is available for execution on the device")

    model = small("qwen3_5")
    replace_attention(model)
    monkeypatch.setattr(interface, "document_attention", refusing)
    assert isolate(model).way.how.startswith("a block mask in attention and cu_seqlens")


def test_attention_that_gives_something_else_stays_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(*args: Any, **kwargs: Any) -> tuple[Tensor, None]:
        return interface._of_library(*args[:5], interface.FLASH_FIRST, kwargs)[0] / 2, None

    model = small("qwen3")
    monkeypatch.setattr(interface, "attend", halved)
    assert not replace_attention(model)
    assert model.config._attn_implementation == "sdpa"
    monkeypatch.undo()
    assert replace_attention(model)


def test_without_a_gpu_a_model_stays_as_it_is() -> None:
    model = small("llama")
    assert use_attention_kernels(model, one_length=True) is None and model.config._attn_implementation == "sdpa"


def test_a_saved_model_does_not_name_our_attention(tmp_path: Path) -> None:
    model = small("qwen3_5")
    replace_attention(model)
    model.save_pretrained(tmp_path)
    assert interface.NAME not in (tmp_path / "config.json").read_text()
    assert "attn_implementation" not in json.loads((tmp_path / "config.json").read_text())
    assert AutoModelForCausalLM.from_pretrained(tmp_path).config._attn_implementation == "sdpa"


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("packed", [False, True])
def test_a_compiled_layer_has_our_attention_in_one_graph(packed: bool) -> None:
    model = small("qwen3")
    replace_attention(model, one_length=True)
    attention: Any = model.model.layers[0].self_attn
    hidden = torch.randn(2, 30, 32, generator=torch.Generator().manual_seed(5)).requires_grad_()
    rotary = model.model.rotary_emb(hidden, torch.arange(30)[None])
    told: dict[str, Any] = {"attention_mask": None}
    if packed:
        told = {"attention_mask": torch.empty(2, 1, 0, 0, dtype=torch.bool)}
        told["cu_seq_lens_q"] = torch.tensor([0, 7, 30, 59, 60], dtype=torch.int32)

    def run(function: Any) -> list[Tensor]:
        outputs = function(hidden, position_embeddings=rotary, **told)[0]
        return [outputs, *torch.autograd.grad(outputs.square().sum(), [hidden, *attention.parameters()])]

    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(run(compiled), run(attention), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("how", ["full", "selective"])
def test_compiled_layers_that_are_computed_again_take_packs_by_documents(how: Any) -> None:
    batch = collate_packs(lines_of_documents(), pad_id=0)
    model = small("qwen3_5")
    replace_attention(model)
    head = LossHead(model, 16, None, 1.0, isolation=isolate(model))
    wanted = loss_and_gradients(head, batch)
    recompute_activations(model, how, compiles=True)
    compile_layers(model, fixed_length=True, backend="aot_eager")
    torch.testing.assert_close(loss_and_gradients(head, batch), wanted, rtol=1e-4, atol=1e-4)
